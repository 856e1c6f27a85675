// Are tools, resources, templates and prompts found, shown and read?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open } from './browser.mjs';
import { COMMAND, fixtureOverHttp, inspect, ON_PIPE, runToEnd, scripted } from './inspector.mjs';

async function fixture(test) {
    const view = await open(test, await inspect(test, ON_PIPE));
    await view.ready();
    return view;
}

test('the first view says what the server is, what it offers and what its tools cost', async (test) => {
    const view = await fixture(test);
    await view.says('element-name', /A fixture/);
    const text = await view.text('server');
    assert.match(text, /1\.2\.3/);
    assert.match(text, /2026-07-28 stateless era/);
    assert.match(text, /\d+ tools, 2 resources, 1 template, 1 prompt/);
    assert.match(text, /stdin and stdout of a process/);
    assert.match(text, /openai ~\d+/);
    assert.equal(await view.text('instructions'), 'For tests.');
    await view.says('capabilities', /"completions"/);
    assert.match(await view.text('token-cost'), /~.*tokens/);
});

test('a search leaves the elements with all its words, and says when there are none', async (test) => {
    const view = await fixture(test);
    await view.fill('search', 'add num');
    await view.at('tool-add').waitFor();
    await view.gone('tool-fail');
    await view.says('group-tool', /1 of/);
    await view.fill('search', 'no such thing');
    await view.at('nothing-found').waitFor();
    await view.at('nothing-found').getByRole('button').click();
    await view.at('tool-fail').waitFor();
});

test('a group of elements opens and closes', async (test) => {
    const view = await fixture(test);
    await view.press('group-tool');
    await view.gone('tool-add');
    assert.equal(await view.at('group-tool').getAttribute('aria-expanded'), 'false');
    await view.press('group-tool');
    await view.at('tool-add').waitFor();
});

test('a resource is read: a text as text, other bytes by their type', async (test) => {
    const view = await fixture(test);
    await view.press('resource-about');
    await view.press('read');
    await view.ends('ok');
    assert.equal(await view.text('block-text'), 'A fixture.');
    await view.press('resource-logo');
    await view.press('read');
    await view.ends('ok');
    await view.says('block-0', /image\/png/);
});

test('a template is filled in with the values that the server suggests', async (test) => {
    const view = await fixture(test);
    await view.press('template-city');
    await view.at('argument-name').pressSequentially('Be');
    await view.says('suggestions-name', /Bern\s*Berlin/);
    await view.key('ArrowDown', 'ArrowDown', 'Enter');
    assert.equal(await view.at('argument-name').inputValue(), 'Berlin');
    await view.press('read');
    await view.ends('ok');
    assert.equal(await view.text('block-text'), 'Berlin is a city.');
});

test('a prompt is filled in with suggestions and gives its messages', async (test) => {
    const view = await fixture(test);
    await view.press('prompt-sights');
    await view.at('argument-city').pressSequentially('L');
    await view.says('suggestions-city', /Lisbon/);
    await view.press('suggestion-0');
    assert.equal(await view.at('argument-city').inputValue(), 'Lisbon');
    await view.fill('argument-days', '3');
    await view.press('read');
    await view.ends('ok');
    await view.says('block-0', /What should I see in Lisbon in 3 days\?/);
    await view.says('block-1', /Let me think/);
});

test('a prompt without a required argument fails in the words of the server', async (test) => {
    const view = await fixture(test);
    await view.press('prompt-sights');
    await view.press('read');
    await view.ends('failed');
    await view.says('call-error', /city/);
});

test('the schema of a tool is shown with its signature and what the doctor finds', async (test) => {
    const view = await open(test, await inspect(test, scripted('moody')));
    await view.ready();
    await view.tool('count');
    await view.press('tool-tab-schema');
    assert.equal(await view.text('signature'), 'count');
    await view.says('output-schema', /"calls"/);
    await view.press('tool-union');
    await view.says('signature', /union/);
    await view.says('input-schema', /"anyOf"/);
    await view.press('tool-erase');
    await view.says('element-name', /erase/);
    assert.match(await view.text('tool'), /destructive\s*idempotent/);
});

test('for models: each provider has its definition, its price and what it loses', async (test) => {
    const view = await open(test, await inspect(test, scripted('moody')));
    await view.ready();
    await view.tool('union');
    await view.press('tool-tab-models');
    for (const provider of ['openai', 'openai_strict', 'anthropic', 'gemini']) {
        await view.press(`provider-${provider}`);
        await view.state('provider', provider);
        assert.match(await view.text('rendering-tokens'), /^~\d+ tokens$/);
        await view.says('definition', /union/);
    }
    await view.says('losses', /anyOf|pattern/);
    await view.press('tool-same');
    await view.press('provider-anthropic');
    await view.at('no-losses').waitFor();
});

test('the history repeats, edits and saves calls', async (test) => {
    const view = await fixture(test);
    await view.tool('add');
    await view.press('tool-tab-history');
    await view.at('history-empty').getByRole('button').click();
    await view.fill('field-a', '1');
    await view.fill('field-b', '2');
    await view.state('call-form', 'fits');
    await view.press('save-call');
    await view.says('notice', /saved/);
    await view.run();
    await view.press('tool-tab-history');
    await view.state('history-1', 'ok');
    await view.says('saved-1', /"a": 1/);
    await view.press('history-1-repeat');
    await view.at('call-2').waitFor();
    await view.ends('ok');
    await view.press('tool-tab-history');
    await view.press('history-2-edit');
    await view.fill('arguments-json', '{"a": 5, "b": 2}');
    await view.state('call-form', 'fits');
    await view.press('run');
    await view.state('call-3', 'ok');
    assert.equal(await view.text('block-text'), '7');
    await view.press('tool-tab-history');
    await view.press('saved-1-use');
    await view.says('arguments-json', /.*/);
    assert.match(await view.at('arguments-json').inputValue(), /"a": 1/);
    await view.press('tool-tab-history');
    await view.press('history-1-open');
    await view.state('call-1', 'ok');
    await view.press('tool-tab-history');
    await view.press('saved-1-forget');
    await view.gone('saved-calls');
});

test('the doctor names the command that says the same about a program', async (test) => {
    const view = await open(test, await inspect(test, ON_PIPE));
    await view.ready();
    await view.press('view-doctor');
    await view.says('doctor', /toolway doctor -- .*cli-fixture serve/);
});

test('the doctor says word for word what `toolway doctor` says', async (test) => {
    const { url } = await fixtureOverHttp(test);
    const view = await open(test, await inspect(test, [url]));
    await view.ready();
    await view.press('view-doctor');
    await view.state('doctor', 'ok');
    const steps = await view.at('doctor-step').allInnerTexts();
    const command = JSON.parse((await runToEnd(COMMAND, ['doctor', '--json', url])).stdout);
    assert.equal(steps.length, command.steps.length);
    command.steps.forEach((step, index) => {
        for (const words of [step.name, ...step.detail]) assert.ok(steps[index].includes(words), `${words} in ${steps[index]}`);
    });
    await view.press('doctor-again');
    await view.state('doctor', 'ok');
});
