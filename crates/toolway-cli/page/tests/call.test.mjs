// Does the form of a tool call the tool, and does the page show how the call went?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open } from './browser.mjs';
import { inspect, ON_PIPE, scripted } from './inspector.mjs';

async function fixture(test) {
    const view = await open(test, await inspect(test, ON_PIPE));
    await view.ready();
    return view;
}

async function moody(test) {
    const view = await open(test, await inspect(test, scripted('moody')));
    await view.ready();
    return view;
}

test('a form calls a tool and shows its blocks', async (test) => {
    const view = await fixture(test);
    await view.tool('add');
    await view.fill('field-a', '2');
    await view.fill('field-b', '40');
    await view.state('call-form', 'fits');
    await view.run();
    assert.equal(await view.text('block-text'), '42');
    assert.match(await view.text('call-clock'), /ms|s$/);
});

test('arguments that do not fit the schema are told in the words of the command', async (test) => {
    const view = await fixture(test);
    await view.tool('add');
    await view.fill('field-a', 'two');
    await view.says('check-result', /a.*two|two.*a/s);
    await view.state('call-form', 'differs');
    assert.equal(await view.at('run').isDisabled(), true);
});

test('JSON that does not fit the schema can be sent anyway', async (test) => {
    const view = await fixture(test);
    await view.tool('add');
    await view.at('mode-json').check();
    await view.fill('arguments-json', '{"a": "two"}');
    await view.state('call-form', 'differs');
    await view.says('run', /anyway/);
    await view.run('tool_error', 'failed');
});

test('arguments are sent as the JSON that the reader wrote', async (test) => {
    const view = await fixture(test);
    await view.tool('add');
    await view.fill('field-a', '1');
    await view.fill('field-b', '2');
    await view.state('call-form', 'fits');
    await view.at('mode-json').check();
    assert.deepEqual(JSON.parse(await view.at('arguments-json').inputValue()), { a: 1, b: 2 });
    await view.fill('arguments-json', '{"b": 9007199254740993, "a": 0}');
    await view.state('call-form', 'fits');
    await view.run();
    await view.openFrame('method:tools/call dir:out');
    await view.says('frame-json', /"b": 9007199254740993,\s+"a": 0/);
});

test('a mistake in the JSON is shown with its place, and nothing is sent', async (test) => {
    const view = await fixture(test);
    await view.tool('add');
    await view.at('mode-json').check();
    await view.fill('arguments-json', '{\n  "a": 1,\n  "b" 2\n}');
    await view.says('check-result', /line 3, column/);
    assert.equal(await view.at('run').isDisabled(), true);
    assert.equal(await view.at('call-state').count(), 0);
});

test('a result is shown as blocks, as its structured value, raw, and against the one before', async (test) => {
    const view = await moody(test);
    await view.tool('count');
    await view.run();
    assert.equal(await view.text('block-text'), 'call 1');
    await view.press('result-diff');
    await view.says('empty', /once more/);
    await view.press('result-structured');
    await view.says('structured', /"calls": 1/);
    await view.press('result-raw');
    await view.says('raw-result', /"structuredContent"/);
    await view.press('run');
    await view.says('raw-result', /call 2/);
    await view.press('result-diff');
    const rows = await view.at('differences').locator('tbody tr').allInnerTexts();
    assert.equal(rows.length, 2);
    assert.match(rows.join('\n'), /structuredContent\/calls\s+1\s+2/);
    await view.tool('greet');
    await view.run();
    await view.press('result-diff');
    await view.says('empty', /once more/);
    await view.press('run');
    await view.at('diff-same').waitFor();
});

test('a result that breaks its output schema says where', async (test) => {
    const view = await moody(test);
    await view.tool('promise');
    await view.run('ok', 'failed', 'tool_error');
    await view.state('output-verdict', 'differs');
    await view.says('output-problems', /value/);
    await view.tool('count');
    await view.run();
    await view.state('output-verdict', 'fits');
});

test('a tool error and a failed call are told apart', async (test) => {
    const view = await fixture(test);
    await view.tool('fail');
    await view.fill('field-reason', 'no more paper');
    await view.state('call-form', 'fits');
    await view.run('tool_error');
    await view.says('block-text', /no more paper/);
    const dying = await moody(test);
    await dying.tool('die');
    await dying.run('failed');
    assert.match(await dying.text('call-error'), /./);
});

test('progress is shown while a call runs, and Cancel ends it', async (test) => {
    const view = await fixture(test);
    await view.tool('wait');
    await view.press('run');
    await view.says('progress', /1 · waiting/);
    await view.press('cancel');
    await view.ends('cancelled');
});

test('a timeout shows what is open, the last frame, and the last lines of stderr', async (test) => {
    const view = await moody(test);
    await view.tool('hang');
    await view.fill('timeout', '0.3');
    await view.run('failed');
    const facts = await view.text('timeout-facts');
    assert.match(facts, /tools\/call.*for 3\d\d ms|tools\/call.*for \d+ ms/s);
    assert.match(facts, /still waiting for the database/);
    assert.match(facts, /last frame\s+\d\d:\d\d:\d\d\.\d\d\d/);
    assert.match(facts, /silent streams/);
});

test('_meta travels with the call', async (test) => {
    const view = await fixture(test);
    await view.tool('add');
    await view.fill('field-a', '1');
    await view.fill('field-b', '2');
    await view.press('meta-toggle');
    await view.fill('meta-json', '{"example.com/trace": "a-1"}');
    await view.state('call-form', 'fits');
    await view.run();
    await view.openFrame('method:tools/call dir:out');
    await view.says('frame-json', /"example.com\/trace": "a-1"/);
});

test('the frames of a call begin with its own request', async (test) => {
    const view = await fixture(test);
    await view.tool('wild');
    await view.run();
    assert.match(await view.text('block-text'), /^beforeU\+001B\[2Jafter$/);
    await view.press('call-frames');
    await view.says('frame-json', /"method": "tools\/call"/);
    await view.press('frame-partner');
    await view.says('frame-json', /"text": "before/);
});

test('a picture that is damaged is not shown, and says so', async (test) => {
    const view = await fixture(test);
    await view.tool('draw');
    await view.run();
    await view.says('block-1', /nothing to show/);
    await view.tool('facts');
    await view.run();
    await view.press('result-structured');
    await view.says('structured', /"z": 1/);
    await view.tool('empty');
    await view.run();
    await view.press('result-blocks');
    await view.says('empty', /no blocks/);
});
