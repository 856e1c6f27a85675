// Are the questions of a server forms, and does the clock of the call stand still meanwhile?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open } from './browser.mjs';
import { FIXTURE, fixtureOverHttp, inspect, ON_PIPE, scripted } from './inspector.mjs';

async function asked(test, words, tool) {
    const view = await open(test, await inspect(test, words));
    await view.ready();
    await view.tool(tool);
    await view.run('asking');
    return view;
}

test('a question is a form with its defaults; the answer ends the call', async (test) => {
    const view = await asked(test, ON_PIPE, 'book');
    assert.equal(await view.text('question-message'), 'A table for the evening?');
    assert.equal(await view.at('question-field-outside').inputValue(), 'false');
    await view.fill('question-field-guests', '4');
    await view.press('question-accept');
    await view.ends('ok');
    assert.equal(await view.text('block-text'), 'booked for 4, inside');
    assert.match(await view.text('call-state'), /for your answers/);
});

test('the clock of the call stands still while a question is open', async (test) => {
    const view = await asked(test, ON_PIPE, 'book');
    await view.at('question-message').waitFor();
    // The page's own ticks are counted, so nothing waits for a time to pass.
    const clocks = await view.page.evaluate(async () => {
        const clock = document.querySelector('[data-testid="call-clock"]');
        const seen = [];
        const observer = new MutationObserver(() => seen.push(clock.textContent));
        observer.observe(clock, { characterData: true, childList: true, subtree: true });
        for (let frame = 0; frame < 60; frame += 1) await new Promise((resolve) => requestAnimationFrame(resolve));
        observer.disconnect();
        return seen;
    });
    assert.deepEqual(clocks, []);
    await view.press('question-decline');
    await view.ends('tool_error', 'ok');
});

test('an answer that does not fit is refused in the words of the command, and can be corrected', async (test) => {
    const view = await asked(test, ON_PIPE, 'book');
    await view.fill('question-field-guests', '11');
    await view.press('question-accept');
    await view.says('question-problem', /8/);
    await view.fill('question-field-guests', 'many');
    await view.press('question-accept');
    await view.says('question-problem', /integer|number/);
    await view.fill('question-field-guests', '2');
    await view.press('question-accept');
    await view.ends('ok');
});

test('an answer can be JSON', async (test) => {
    const view = await asked(test, ON_PIPE, 'book');
    await view.at('question-as-json').check();
    await view.fill('question-json', '{"guests": 3, "outside": true}');
    await view.press('question-accept');
    await view.ends('ok');
    assert.equal(await view.text('block-text'), 'booked for 3, outside');
});

test('kept answers answer the next call, until they are forgotten', async (test) => {
    const view = await asked(test, ON_PIPE, 'book');
    await view.fill('question-field-guests', '5');
    await view.at('keep-answers').check();
    await view.press('question-accept');
    await view.ends('ok');
    await view.press('run');
    await view.state('call-2', 'ok');
    assert.equal(await view.text('block-text'), 'booked for 5, inside');
    await view.press('forget-answers');
    await view.press('run');
    await view.state('call-3', 'asking');
    await view.press('question-cancel');
    await view.state('call-3', 'tool_error', 'ok', 'failed');
});

test('a question can be declined, and a server can ask twice', async (test) => {
    const view = await asked(test, scripted('moody', 'both'), 'ask_twice');
    await view.fill('question-field-name', 'Ada');
    await view.press('question-accept');
    await view.says('question-message', /How old/);
    await view.page.locator('.question-title').getByText('round 2').waitFor();
    await view.press('question-decline');
    await view.ends('ok');
    assert.equal(await view.text('block-text'), 'no answer');
});

test('an address to open is shown in full, and opened only by a click', async (test) => {
    const { url } = await fixtureOverHttp(test);
    const view = await asked(test, [url], 'pay');
    assert.match(await view.text('question-url'), /https:\/\/pay\.example\/bill\/17/);
    const link = view.at('question-url');
    assert.equal(await link.getAttribute('rel'), 'noopener noreferrer');
    await view.press('question-accept');
    await view.ends('ok');
    assert.equal(await view.text('block-text'), 'paid');
});

test('a call that asks can be cancelled; its question goes away', async (test) => {
    const view = await asked(test, ON_PIPE, 'book');
    await view.press('cancel');
    await view.ends('cancelled');
    await view.gone('question-message');
});

test('a question that may be of several calls is shown above all of them, and names them', async (test) => {
    const view = await asked(test, ['--protocol', '2025-11-25', ...ON_PIPE], 'book');
    await view.tool('pay');
    await view.press('run');
    await view.says('question-calls', /One of these calls.*book \(call 1\), pay \(call 2\)/);
    assert.equal(await view.text('question-message'), 'Please pay 3 €.');
    await view.state('call-2', 'running');
    await view.tool('book');
    assert.equal(await view.at('question-message').count(), 2);
    await view.at('call-1').getByTestId('question-decline').click();
    await view.ends('tool_error', 'ok');
    await view.says('question-calls', /Only pay \(call 2\) is still running/);
    await view.press('question-accept');
    await view.tool('pay');
    await view.state('call-2', 'ok');
    assert.equal(await view.text('block-text'), 'paid');
});

test('a model that is declined says so in both eras', async (test) => {
    for (const [revision, words] of [['2025-11-25', /refused/], ['2026-07-28', /^declined.*refused/]]) {
        const view = await open(test, await inspect(test, ['--protocol', revision, '--', FIXTURE, 'more', 'serve']));
        await view.ready();
        await view.tool('summarize');
        await view.fill('field-text', 'a long story');
        await view.state('call-form', 'fits');
        await view.run('asking');
        await view.press('question-decline');
        await view.ends('tool_error', 'failed');
        await view.says(revision === '2025-11-25' ? 'block-text' : 'call-error', words);
    }
});

test('an open question is there again after the page is loaded anew', async (test) => {
    const view = await asked(test, ON_PIPE, 'book');
    await view.page.reload();
    await view.state('page', 'ready');
    await view.tool('book');
    await view.press('tool-tab-history');
    await view.press('history-1-open');
    await view.fill('question-field-guests', '6');
    await view.press('question-accept');
    await view.ends('ok');
});
