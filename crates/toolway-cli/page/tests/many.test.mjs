// Does the page stay small with 5,000 tools and 10,000 frames?

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { open } from './browser.mjs';
import { fine } from './examine.mjs';
import { folder, inspect, scripted } from './inspector.mjs';

const MOST_NODES = 2000;

async function small(view, where) {
    const nodes = await view.nodes();
    assert.ok(nodes <= MOST_NODES, `${nodes} elements ${where}`);
}

test('5,000 tools and 10,000 frames are at most 2,000 elements in every view, and a search finds one', async (test) => {
    const view = await open(test, await inspect(test, scripted('many')));
    await view.ready();
    await view.says('group-tool', /5\u2009000/);
    await view.fill('search', 'tool_4321');
    await view.key('Enter');
    await view.says('element-name', /tool_4321/);
    await view.fill('search', '');
    await view.press('tool-chatter');
    await view.fill('field-messages', '10000');
    await view.state('call-form', 'fits');
    await view.run();
    await view.says('frame-count', /^10\u2009000 frames$/);
    for (const tab of ['frames', 'timeline', 'latency', 'log', 'stderr', 'news']) {
        await view.drawer(tab);
        await small(view, `with ${tab}`);
    }
    await view.drawer('frames');
    await view.fill('frame-filter', 'message');
    await small(view, 'with a filter');
    await view.fill('frame-filter', '');
    await view.at('frames').evaluate((list) => list.scrollTo(0, list.scrollHeight / 2));
    await small(view, 'in the middle of the frames');
    await view.at('tree').evaluate((list) => list.scrollTo(0, list.scrollHeight));
    await view.at('tool-tool_4998').waitFor();
    await small(view, 'at the end of the tools');
    await view.press('tool-tool_4998');
    for (const tab of ['schema', 'models', 'history', 'call']) {
        await view.press(`tool-tab-${tab}`);
        await small(view, `with ${tab}`);
    }
    for (const name of ['server', 'recordings']) {
        await view.press(`view-${name}`);
        await small(view, `with ${name}`);
    }
    await view.key('Control+k');
    await view.fill('palette-input', 'tool_12');
    await view.at('command-tool-tool_1234').waitFor();
    await small(view, 'with the palette');
});

test('a form of 500 fields is at most 2,000 elements, and every field can be reached and sent', async (test) => {
    const view = await open(test, await inspect(test, scripted('many', 'wide')));
    await view.ready();
    await view.press('tool-wide');
    await view.fill('field-p000', 'first');
    await small(view, 'with the first fields');
    await fine(view, 'with many fields');
    // With the keyboard: the list is before the fields it chooses.
    await view.at('field-p000').focus();
    await view.key('Shift+Tab');
    await view.key('End');
    await view.at('field-p499').waitFor();
    await view.gone('field-p000');
    await small(view, 'with the last fields');
    await view.key('Tab');
    assert.match(await view.page.evaluate(() => document.activeElement.dataset.testid), /^field-p4/);
    await view.fill('field-p499', '7');
    await view.key('Control+Enter');
    await view.ends('ok');
    assert.equal(await view.text('block-text'), 'p000=first p499=7');
    // With the mouse.
    await view.at('field-pages').selectOption({ index: 1 });
    await view.gone('field-p499');
    await view.at('field-pages').selectOption({ index: 0 });
    assert.equal(await view.at('field-p000').inputValue(), 'first');
    for (const tab of ['schema', 'models', 'history']) {
        await view.press(`tool-tab-${tab}`);
        await small(view, `with ${tab}`);
    }
});

test('a recording of 10,000 frames is at most 2,000 elements', async (test) => {
    const lines = ['{"cassette":1,"recorded":"2026-01-01T00:00:00Z","by":"toolway 0.1.0","server":{"name":"long","version":"1"},"revision":"2025-11-25","over":"pipe","redacted":0}'];
    for (let n = 1; n <= 10_000; n += 1) {
        const frame = n % 2 === 1 ? { jsonrpc: '2.0', id: n, method: 'tools/call', params: { name: `tool_${n % 7}` } } : { jsonrpc: '2.0', id: n - 1, result: { content: [] } };
        lines.push(JSON.stringify({ n, t: n / 1000, dir: n % 2 === 1 ? 'out' : 'in', frame }));
    }
    const file = join(await folder(test), 'long.jsonl');
    await writeFile(file, `${lines.join('\n')}\n`);
    const view = await open(test, await inspect(test, [file]));
    await view.says('frame-count', /^10\u2009000 frames$/);
    await view.drawer('timeline');
    await small(view, 'in the timeline');
    await view.drawer('latency');
    await view.says('latency', /tool_3/);
    await small(view, 'in the latencies');
});

test('a result of 200,000 lines is at most 2,000 elements', async (test) => {
    const view = await open(test, await inspect(test, scripted('moody')));
    await view.ready();
    await view.tool('big');
    await view.fill('field-lines', '200000');
    await view.state('call-form', 'fits');
    await view.run();
    await view.at('block-text').waitFor();
    await small(view, 'with the blocks');
    await view.press('result-raw');
    await small(view, 'with the raw result');
});
