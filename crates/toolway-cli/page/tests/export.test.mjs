// Does what the page exports give the same result elsewhere, and are recordings opened again?

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { open } from './browser.mjs';
import { COMMAND, fixtureOverHttp, folder, inspect, ON_PIPE, scripted } from './inspector.mjs';

const shell = (line, words = {}) => promisify(execFile)('sh', ['-c', line], words);

async function added(test, words) {
    const view = await open(test, await inspect(test, words));
    await view.ready();
    await view.tool('add');
    await view.fill('field-a', '2');
    await view.fill('field-b', '40');
    await view.state('call-form', 'fits');
    await view.run();
    return view;
}

async function copied(view, kind, label) {
    await view.press('copy-as');
    await view.press(`copy-as-${kind}`);
    await view.says('notice', new RegExp(`copied as ${label}`));
    return view.clipboard();
}

test('a call is exported as a line for curl, which gives the same result', async (test) => {
    const { url } = await fixtureOverHttp(test);
    const view = await added(test, [url]);
    const { stdout } = await shell(await copied(view, 'curl', 'curl'));
    assert.match(stdout, /"text":"42"/);
});

test('a call is exported as a line for the terminal, which gives the same result', async (test) => {
    const view = await added(test, ON_PIPE);
    const line = await copied(view, 'toolway', 'toolway call');
    assert.match(line, /^toolway call /);
    const { stdout } = await shell(line.replace(/^toolway/, `'${COMMAND}'`));
    assert.equal(stdout.trim(), '42');
});

test('a call is exported as a Rust test', async (test) => {
    const view = await added(test, ON_PIPE);
    const rust = await copied(view, 'rust', 'Rust test');
    assert.match(rust, /#\[tokio::test\]/);
    assert.match(rust, /\.connect\(/);
    assert.match(rust, /"add"/);
});

test('a call is exported as a cassette, which the inspector opens', async (test) => {
    const view = await added(test, ON_PIPE);
    const cassette = await copied(view, 'cassette', 'Cassette');
    const lines = cassette.trim().split('\n').map((line) => JSON.parse(line));
    assert.equal(lines[0].cassette, 1);
    assert.ok(lines.length >= 3);
    const file = join(await folder(test), 'call.jsonl');
    await writeFile(file, cassette);
    const other = await open(test, await inspect(test, [file]));
    await other.openFrame('method:tools/call dir:out');
    await other.says('frame-json', /"a": 2/);
});

test('an export without a call says that one is needed, and curl needs an address', async (test) => {
    const view = await open(test, await inspect(test, ON_PIPE));
    await view.ready();
    await view.tool('wild');
    await view.press('copy-as');
    await view.press('copy-as-curl');
    await view.says('notice', /run the tool first/);
    await view.run();
    await view.press('copy-as');
    await view.press('copy-as-curl');
    await view.says('notice', /toolway proxy --http/);
});

test('secrets are in no export', async (test) => {
    const { url } = await fixtureOverHttp(test);
    const view = await added(test, ['--header', 'X-Api-Key: sesame-sesame-1', '--bearer', 'sesame-sesame-2', url]);
    for (const [kind, label] of [['curl', 'curl'], ['toolway', 'toolway call'], ['cassette', 'Cassette']]) {
        assert.doesNotMatch(await copied(view, kind, label), /sesame/);
    }
});

test('a session is downloaded as a cassette and opened in the page, read only', async (test) => {
    const view = await added(test, ON_PIPE);
    await view.press('view-recordings');
    const [download] = await Promise.all([view.page.waitForEvent('download'), view.press('download-0')]);
    const file = join(await folder(test), download.suggestedFilename());
    await download.saveAs(file);
    assert.match(await readFile(file, 'utf8'), /^\{"cassette":1/);
    await view.at('cassette-file').setInputFiles(file);
    await view.says('element-name', /fixture/);
    await view.state('connection', 'closed');
    await view.press('tool-add');
    await view.at('read-only').waitFor();
    assert.equal(await view.at('run').count(), 0);
    await view.openFrame('method:tools/call dir:out');
    await view.press('view-recordings');
    await view.press('recording-0');
    await view.ready();
});

test('what is not a cassette is refused with its place', async (test) => {
    const view = await open(test, await inspect(test, ON_PIPE));
    await view.ready();
    await view.press('view-recordings');
    const open_ = (name, content) => view.at('cassette-file').setInputFiles({ name, mimeType: 'application/jsonl', buffer: Buffer.from(content) });
    await open_('notes.jsonl', 'milk, eggs\n');
    await view.says('cassette-error', /notes\.jsonl/);
    await open_('new.jsonl', '{"cassette":99,"recorded":"2030-01-01T00:00:00Z","by":"toolway 9.0.0","revision":null,"over":"pipe","redacted":0}\n');
    await view.says('cassette-error', /99|newer/);
    await open_('cut.jsonl', '{"cassette":1,"recorded":"2026-01-01T00:00:00Z","by":"toolway 0.1.0","over":"pipe","redacted":0}\n{"n":1,"t":0.1,"dir":"out","fra');
    await view.says('cassette-error', /line 2/);
});

test('a recording that grows is followed', async (test) => {
    const file = join(await folder(test), 'session.jsonl');
    const live = await open(test, await inspect(test, ['--record', file, ...scripted('moody')]));
    await live.ready();
    const view = await open(test, await inspect(test, [file, '--follow']));
    await view.state('connection', 'closed');
    await view.drawer('frames');
    await live.tool('greet');
    await live.run();
    await view.fill('frame-filter', 'tool:greet');
    await view.says('frame-count', /^2 of/);
    await view.press('view-recordings');
    await view.says('recordings', /follows it as it grows/);
});
