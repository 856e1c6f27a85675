// Does the page work with a server of others: npm's `@modelcontextprotocol/server-everything`?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open } from './browser.mjs';
import { EVERYTHING, inspect } from './inspector.mjs';

const WORDS = ['--', process.execPath, EVERYTHING, 'stdio'];

async function everything(test) {
    assert.ok(EVERYTHING, '`cargo xtask page --test` installs server-everything and names it');
    const view = await open(test, await inspect(test, WORDS));
    await view.ready();
    return view;
}

test('its tools are called: a text, a sum, a structured value and a picture', async (test) => {
    const view = await everything(test);
    await view.tool('echo');
    await view.fill('field-message', 'hello');
    await view.state('call-form', 'fits');
    await view.run();
    await view.says('block-text', /hello/);
    await view.tool('get-sum');
    await view.fill('field-a', '2');
    await view.fill('field-b', '40');
    await view.state('call-form', 'fits');
    await view.run();
    await view.says('block-text', /42/);
    await view.tool('get-structured-content');
    await view.at('field-location').selectOption({ index: 1 });
    await view.state('call-form', 'fits');
    await view.run();
    await view.state('output-verdict', 'fits');
    await view.press('result-structured');
    await view.says('structured', /temperature/);
    await view.tool('get-tiny-image');
    await view.run();
    await view.press('result-blocks');
    await view.page.locator('[data-testid="media-picture"] img').waitFor();
    assert.ok(await view.page.locator('[data-testid="media-picture"] img').evaluate((image) => image.decode().then(() => image.naturalWidth > 0)));
});

test('its resources, templates and prompts are read, with its suggestions', async (test) => {
    const view = await everything(test);
    await view.starting('resource-').first().click();
    await view.press('read');
    await view.ends('ok');
    await view.starting('template-').first().click();
    await view.page.locator('[data-testid^="argument-"]').first().fill('1');
    await view.press('read');
    await view.ends('ok', 'failed');
    await view.starting('prompt-').first().click();
    await view.press('read');
    await view.ends('ok', 'failed');
});

test('it asks for a form and for a model, and is answered', async (test) => {
    const view = await everything(test);
    await view.tool('trigger-elicitation-request');
    await view.run('asking');
    await view.press('question-decline');
    await view.ends('ok');
    await view.tool('trigger-sampling-request');
    await view.fill('field-prompt', 'What is a test?');
    await view.state('call-form', 'fits');
    await view.run('asking');
    await view.fill('sampling-text', 'A question with one answer.');
    await view.press('question-accept');
    await view.ends('ok');
    await view.says('blocks', /A question with one answer\./);
});

test('a long call reports its progress', async (test) => {
    const view = await everything(test);
    await view.tool('trigger-long-running-operation');
    await view.fill('field-duration', '1');
    await view.fill('field-steps', '2');
    await view.state('call-form', 'fits');
    await view.run();
    await view.fill('frame-filter', 'method:notifications/progress');
    await view.says('frame-count', /^[12] of/);
});
