// Does the drawer show what went over the wire, when, and how long it took?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open } from './browser.mjs';
import { fixtureOverHttp, inspect, ON_PIPE, scripted } from './inspector.mjs';

async function overHttp(test, ...words) {
    const { url } = await fixtureOverHttp(test);
    const view = await open(test, await inspect(test, [...words, url]));
    await view.ready();
    return view;
}

async function moody(test) {
    const view = await open(test, await inspect(test, scripted('moody')));
    await view.ready();
    return view;
}

test('frames of a pipe: requests, answers and stderr in their order, with their partners', async (test) => {
    const view = await moody(test);
    await view.tool('greet');
    await view.fill('field-name', 'Ada');
    await view.state('call-form', 'fits');
    await view.run();
    await view.openFrame('tool:greet dir:out');
    await view.says('frame-json', /"name": "Ada"/);
    await view.press('frame-partner');
    await view.says('frame-json', /Hello Ada!/);
    await view.press('close-frame');
    await view.gone('frame-detail');
});

test('frames of HTTP: heads, streams and event ids; what grants access is covered', async (test) => {
    const view = await overHttp(test, '--protocol', '2025-11-25', '--header', 'X-Api-Key: 123456789');
    await view.tool('add');
    await view.fill('field-a', '1');
    await view.fill('field-b', '2');
    await view.state('call-form', 'fits');
    await view.run();
    await view.openFrame('method:tools/call dir:out');
    await view.says('http-head', /POST \/mcp/);
    const head = await view.text('http-head');
    assert.match(head, /mcp-session-id\s+••••••/i);
    assert.doesNotMatch(head, /123456789/);
    await view.at('http-head').getByRole('button', { name: /show mcp-session-id/i }).click();
    assert.doesNotMatch(await view.text('http-head'), /mcp-session-id\s+••••••/i);
    await view.press('frame-head-toggle');
    await view.gone('http-head');
    await view.press('frame-partner');
    await view.says('frame-json', /"text": "3"/);
});

test('a filter finds frames by method, tool, time, direction and words; a minus turns it round', async (test) => {
    const view = await moody(test);
    await view.tool('greet');
    await view.run();
    const count = async (filter, pattern) => {
        await view.fill('frame-filter', filter);
        await view.says('frame-count', pattern);
    };
    await count('tool:greet', /^2 of/);
    await count('tool:greet dir:in', /^1 of/);
    await count('method:tools/call -dir:in', /^1 of/);
    await count('Hello', /^1 of/);
    await count('kind:result status:ok', /of/);
    await count('>100000s', /^0 of/);
    await view.at('frames-none-fit').getByRole('button').click();
    await view.says('frame-count', /^\d+ frames$/);
});

test('the arrow keys walk through the frames', async (test) => {
    const view = await moody(test);
    await view.at('frames').focus();
    await view.key('Home');
    const first = await view.at('frame-detail').getAttribute('data-frame');
    await view.key('ArrowDown');
    await view.page.locator(`[data-testid="frame-detail"]:not([data-frame="${first}"])`).waitFor();
    await view.key('Escape');
    await view.gone('frame-detail');
});

test('a frame over 64 KiB is folded, and read whole on request', async (test) => {
    const view = await moody(test);
    await view.tool('big');
    await view.fill('field-lines', '9000');
    await view.state('call-form', 'fits');
    await view.run();
    await view.openFrame('tool:big dir:in');
    await view.says('frame-detail', /Only the beginning of/);
    await view.press('whole-frame');
    await view.gone('whole-frame');
});

test('the timeline has lanes for calls, questions, notifications, streams and the connection', async (test) => {
    const view = await overHttp(test, '--protocol', '2025-11-25');
    await view.tool('work');
    await view.run();
    await view.drawer('timeline');
    for (const lane of ['calls', 'notifications', 'streams', 'connection']) {
        const count = Number(await view.at(`lane-${lane}`).getAttribute('data-count'));
        assert.ok(count > 0, `${lane} has ${count}`);
    }
    assert.equal(await view.at('lane-questions').getAttribute('data-count'), '0');
    await view.press('timeline-in');
    await view.press('timeline-all');
    await view.at('timeline').focus();
    await view.key('ArrowRight');
    await view.says('timeline-about', /after the start/);
});

test('the timeline opens the frame of what it shows', async (test) => {
    const view = await moody(test);
    await view.drawer('timeline');
    await view.at('lane-calls').locator('.span').first().click();
    await view.state('drawer', 'frames');
    await view.says('frame-json', /"method"/);
});

test('latency has a line for each tool and a histogram with its percentiles', async (test) => {
    const view = await moody(test);
    await view.drawer('latency');
    await view.tool('greet');
    for (let call = 1; call <= 3; call += 1) {
        await view.press('run');
        await view.state(`call-${call}`, 'ok');
    }
    await view.says('latency-greet', /tools\/call\s*3/);
    const name = await view.at('histogram').getAttribute('aria-label');
    assert.match(name, /greet: p50 .*, p95 .*, p99 /);
    await view.at('latency').getByRole('button', { name: 'its frames' }).click();
    await view.says('frame-count', /^6 of/);
});

test('log messages come in, at the level that the reader asks for', async (test) => {
    const view = await moody(test);
    await view.drawer('log');
    await view.at('log-level').selectOption('debug');
    await view.tool('log');
    await view.run();
    await view.at('log-line').nth(3).waitFor();
    const lines = await view.at('log-line').allInnerTexts();
    assert.match(lines[3], /error\s+moody\s+.*a message of level error/s);
});

test('stderr of the program is shown with its times', async (test) => {
    const view = await moody(test);
    await view.drawer('stderr');
    await view.says('empty', /Nothing on stderr/);
    await view.tool('hang');
    await view.press('run');
    await view.says('stderr-line', /still waiting for the database/);
    await view.press('cancel');
    await view.ends('cancelled');
});

test('a change of the list is shown as a difference', async (test) => {
    const view = await moody(test);
    await view.tool('change');
    await view.run();
    await view.says('catalog-notice', /tools: 1 added, 1 changed/);
    await view.press('catalog-details');
    const changes = await view.text('catalog-changes');
    assert.match(changes, /added/);
    assert.match(changes, /Greet someone\..*Greet someone politely\./s);
    await view.at('catalog-changes').getByRole('button', { name: 'Both definitions' }).click();
    await view.says('catalog-changes', /"inputSchema"/);
    await view.at('tool-added').waitFor();
    await view.drawer('news');
    await view.says('news-line', /tools: 1 added, 1 changed/);
    await view.says('news-line', /tools\/list_changed/);
});

test('a resource can be watched, and the connection is among the notifications', async (test) => {
    const view = await open(test, await inspect(test, ON_PIPE));
    await view.ready();
    await view.press('resource-about');
    await view.at('watch').check();
    await view.drawer('news');
    await view.says('news-line', /connected/);
    assert.equal(await view.at('watch').isChecked(), true);
});

test('the drawer closes, opens and changes its height', async (test) => {
    const view = await moody(test);
    await view.press('drawer-toggle');
    await view.gone('frames');
    await view.press('drawer-toggle');
    await view.at('frames').waitFor();
    const before = (await view.at('drawer-box').boundingBox()).height;
    await view.at('drawer-edge').focus();
    await view.key('ArrowUp');
    const after = (await view.at('drawer-box').boundingBox()).height;
    assert.ok(after > before, `${before} ${after}`);
});
