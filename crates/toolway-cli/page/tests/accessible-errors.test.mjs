// Does axe-core find nothing in views in error, with hostile texts, and in a narrow window?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open } from './browser.mjs';
import { fine } from './examine.mjs';
import { FIXTURE, inspect, ON_PIPE, scripted } from './inspector.mjs';

async function started(test, words) {
    const view = await open(test, await inspect(test, words));
    await view.ready();
    return view;
}

test('in error: a failed call, a timeout, wrong arguments, a broken promise', async (test) => {
    const view = await started(test, scripted('moody'));
    await view.tool('hang');
    await view.fill('timeout', '0.2');
    await view.run('failed');
    await fine(view, 'a timeout');
    await view.tool('promise');
    await view.run('ok', 'tool_error', 'failed');
    await fine(view, 'a result that does not fit');
    await view.tool('greet');
    await view.at('mode-json').check();
    await view.fill('arguments-json', '{"name": 1');
    await view.says('check-result', /JSON/);
    await fine(view, 'a mistake in the JSON');
    await view.fill('frame-filter', 'no such frame');
    await fine(view, 'a filter without frames');
});

test('in error: no connection, no list, no cassette, and the end', async (test) => {
    const dead = await open(test, await inspect(test, ['--', FIXTURE, 'die']));
    await dead.state('connection', 'failed');
    await fine(dead, 'no connection');
    await dead.press('view-doctor');
    await dead.state('doctor', 'findings', 'failed');
    await fine(dead, 'the doctor with findings');
    await dead.press('view-recordings');
    await dead.at('cassette-file').setInputFiles({ name: 'x.jsonl', mimeType: 'text/plain', buffer: Buffer.from('x') });
    await dead.at('cassette-error').waitFor();
    await fine(dead, 'a refused cassette');
    const half = await started(test, ['--', FIXTURE, 'no-list']);
    await half.says('list-error-tools', /./);
    await fine(half, 'no list');
    await half.page.goto(`${half.inspector.origin}/`);
    await half.inspector.stop();
    await half.state('page', 'ended');
    await fine(half, 'the end');
});

test('hostile texts change nothing about that', async (test) => {
    const view = await started(test, scripted('hostile'));
    await fine(view, 'the server');
    await view.tool('hidden');
    await view.run();
    await fine(view, 'hidden characters');
    await view.tool('media');
    await view.run();
    await fine(view, 'refused pictures');
    await view.tool('ask');
    await view.run('asking');
    await fine(view, 'a question with HTML');
    await view.press('question-cancel');
});

test('a narrow window and larger letters lose nothing', async (test) => {
    const view = await started(test, ON_PIPE);
    await view.page.setViewportSize({ width: 640, height: 800 });
    await view.tool('add');
    await fine(view, 'a narrow window');
    for (const id of ['run', 'run-both', 'copy-as', 'drawer-frames', 'search']) {
        await view.at(id).scrollIntoViewIfNeeded();
        assert.equal(await view.at(id).isVisible(), true, id);
    }
});
