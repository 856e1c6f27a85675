// Can a server run programs in the page, call home from it, or hide something from its reader?
//
// Every page of every test counts foreign requests, dialogs, errors and reports of the policy; here a server tries.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open } from './browser.mjs';
import { inspect, scripted } from './inspector.mjs';

async function hostile(test) {
    const view = await open(test, await inspect(test, scripted('hostile')));
    await view.ready();
    return view;
}

/** Nothing of the server's has become part of the document. */
async function untouched(view) {
    const found = await view.page.evaluate(() => ({
        hacked: globalThis.hacked === true,
        scripts: [...document.scripts].map((script) => script.src),
        foreign: document.querySelectorAll('iframe, object, embed, base, link:not([href="/page.css"]), img:not([src^="blob:"])').length,
        dangerous: [...document.querySelectorAll('[href], [src]')].map((element) => element.getAttribute('href') ?? element.getAttribute('src')).filter((address) => /^\s*(javascript|data|vbscript):/i.test(address)),
        handlers: [...document.querySelectorAll('*')].filter((element) => [...element.attributes].some((attribute) => attribute.name.startsWith('on'))).length,
    }));
    assert.deepEqual(found, { hacked: false, scripts: [`${view.inspector.origin}/page.js`], foreign: 0, dangerous: [], handlers: 0 });
}

test('HTML in names, descriptions, fields and instructions is text', async (test) => {
    const view = await hostile(test);
    await view.says('server-name', /<img src=/);
    await view.says('instructions', /<script>window\.hacked/);
    await view.tool('html');
    await view.says('description', /<b>bold<\/b>/);
    for (const tab of ['schema', 'models', 'history', 'call']) {
        await view.press(`tool-tab-${tab}`);
        await untouched(view);
    }
    await view.tool('<img src=x onerror=alert(1)>');
    await view.run();
    await view.tool('__proto__');
    await view.run();
    await untouched(view);
});

test('HTML in results, errors, log messages and stderr is text', async (test) => {
    const view = await hostile(test);
    await view.tool('html');
    await view.run();
    await view.says('block-text', /<svg xmlns=/);
    for (const tab of ['structured', 'raw', 'diff', 'blocks']) {
        await view.press(`result-${tab}`);
        await untouched(view);
    }
    await view.tool('fail');
    await view.run('failed', 'tool_error');
    await view.says('call-error', /<script>/);
    await view.tool('log');
    await view.run();
    await view.drawer('log');
    await view.says('log-line', /<script>/);
    await view.drawer('stderr');
    await view.says('stderr-line', /<script>/);
    await view.drawer('news');
    await view.says('news-line', /javascript:<script>/);
    await view.drawer('timeline');
    await view.drawer('latency');
    await untouched(view);
});

test('an address that is not http or https is text and cannot be pressed', async (test) => {
    const view = await hostile(test);
    await view.tool('links');
    await view.run();
    await view.says('block-0', /javascript:window\.hacked=true/);
    const links = await view.at('blocks').locator('a').evaluateAll((links) => links.map((link) => [link.href, link.rel, link.target]));
    assert.deepEqual(links, [['https://evil.example/?q=%3Cscript%3E', 'noopener noreferrer', '_blank']]);
    await view.at('block-0').getByTestId('block-link').click();
    await view.at('block-1').getByTestId('block-link').click();
    await untouched(view);
});

test('SVG and HTML are never pictures; a false picture is broken, not run', async (test) => {
    const view = await hostile(test);
    await view.tool('media');
    await view.run();
    for (const block of [0, 1, 4]) await view.at(`block-${block}`).getByTestId('media-refused').waitFor();
    await view.says('block-2', /not valid|nothing to show/);
    await view.says('block-3', /not valid|nothing to show/);
    await untouched(view);
});

test('hidden and turning characters are marked wherever they stand', async (test) => {
    const view = await hostile(test);
    await view.says('hidden-warning', /instructions/);
    await view.says('instructions', /U\+202E/);
    await view.tool('hidden');
    await view.says('hidden-warning', /U\+202E/);
    const description = await view.text('description');
    assert.match(description, /Reads U\+202E.xt\.exeU\+202C a file\.U\+200BU\+E0049/);
    // oxlint-disable-next-line no-control-regex
    assert.doesNotMatch(description, /[\u200b-\u200f\u202a-\u202e\u{e0000}-\u{e007f}]/u);
    await view.run();
    await view.says('block-text', /U\+202E/);
    await view.press('result-raw');
    await view.says('raw-result', /U\+202E/);
    assert.ok((await view.page.locator('.mark-warn').count()) > 0, 'the list marks the tool');
});

test('escape sequences are shown as their codes', async (test) => {
    const view = await hostile(test);
    await view.tool('escapes');
    await view.says('description', /U\+001B\[31malertU\+001B\[0m/);
    await view.run();
    await view.says('block-text', /U\+001B\]8;;http:\/\/evil\.example/);
    await view.drawer('stderr');
    await view.says('stderr-line', /U\+001B\[31m/);
});

test('a question with HTML is a form with text; javascript: is not opened', async (test) => {
    const view = await hostile(test);
    await view.tool('ask');
    await view.run('asking');
    await view.says('question-message', /<img src=/);
    await view.page.getByText('<script>window.hacked').first().waitFor();
    await untouched(view);
    await view.press('question-decline');
    await view.ends('ok');
    await view.tool('ask_url');
    await view.press('run');
    await view.page.getByText('javascript:window.hacked=true').first().waitFor();
    assert.equal(await view.page.locator('.question a').count(), 0);
    await view.page.getByText(/only http and https/).waitFor();
    await view.press('question-cancel');
    await untouched(view);
});

test('resources, templates, prompts and suggestions with HTML are text', async (test) => {
    const view = await hostile(test);
    await view.starting('resource-<img').first().click();
    await view.press('read');
    await view.ends('ok');
    await view.says('blocks', /<script>/);
    await view.starting('template-<script').first().click();
    await view.at('argument-code').pressSequentially('a');
    await view.says('suggestions-code', /<script>/);
    await untouched(view);
    await view.press('suggestion-0');
    await view.starting('prompt-<script').first().click();
    await view.press('read');
    await view.ends('ok');
    await view.says('blocks', /<script>/);
    await view.press('view-doctor');
    await view.state('doctor', 'ok', 'findings');
    await view.key('Control+k');
    await view.fill('palette-input', 'script');
    await untouched(view);
});

test('the policy of the page forbids what a mistake of the page might let through', async (test) => {
    const view = await hostile(test);
    const answer = await view.page.request.get(view.inspector.origin);
    const policy = answer.headers()['content-security-policy'];
    for (const rule of ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]) {
        assert.ok(policy.includes(rule), `${rule} in ${policy}`);
    }
    // The attempt itself is what the page's watch must allow in this test.
    const refused = await view.page.evaluate(() => {
        try {
            document.body.insertAdjacentHTML('beforeend', '<b>x</b>');
            return false;
        } catch (problem) {
            return problem instanceof TypeError;
        }
    });
    assert.equal(refused, true);
    view.seen.broken.length = 0;
});
