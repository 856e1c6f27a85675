// How are the pictures of the guide made?
//
// By the examples of this repository, in the typefaces that `cargo xtask page --screenshots` demands. Only times differ
// from run to run.

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { open } from './browser.mjs';
import { FIXTURE, fixtureOverHttp, folder, inspect } from './inspector.mjs';

const IMAGES = process.env.TOOLWAY_IMAGES;
const SIZE = { width: 1120, height: 760 };

/** One of the examples, on a pipe. */
function example(name) {
    return ['--', join(dirname(FIXTURE), name)];
}

async function pictured(test, words, options = {}) {
    const shown = await open(test, await inspect(test, words), { viewport: SIZE, ...options });
    await shown.ready();
    await smallDrawer(shown);
    return {
        shown,
        take: async (name) => {
            await mkdir(IMAGES, { recursive: true });
            // Nothing moves and no caret blinks in a picture.
            await shown.page.mouse.move(0, 0);
            await shown.page.screenshot({ path: join(IMAGES, `${name}.png`), animations: 'disabled', caret: 'hide' });
        },
    };
}

/** Leaves more room for what the drawer shows. */
async function largeDrawer(shown) {
    await shown.at('drawer-edge').focus();
    await shown.key('ArrowUp', 'ArrowUp', 'ArrowUp', 'ArrowUp');
}

/** Leaves more room for the call, by the keys that move the drawer's edge. */
async function smallDrawer(shown) {
    await shown.at('drawer-edge').focus();
    await shown.key('ArrowDown', 'ArrowDown', 'ArrowDown');
}

async function saveNote(shown, title) {
    await shown.tool('save');
    await shown.fill('field-title', title);
    await shown.fill('field-body', 'milk, eggs');
    await shown.state('call-form', 'fits');
    await shown.run();
    await shown.at('blocks').waitFor();
}

test('a call, and the frames that it sent', async (test) => {
    const { shown, take } = await pictured(test, example('notes'));
    await saveNote(shown, 'Groceries');
    await take('inspect-call');
});

test('the same in dark', async (test) => {
    const { shown, take } = await pictured(test, example('everything'), { colorScheme: 'dark' });
    await shown.tool('profile');
    await shown.press('tool-tab-models');
    await shown.at('rendering').waitFor();
    await shown.press('provider-openai_strict');
    await take('inspect-models');
});

test('a question in the middle of a call', async (test) => {
    const { shown, take } = await pictured(test, ['--', FIXTURE, 'serve']);
    await shown.tool('book');
    await shown.run('asking');
    await shown.press('drawer-toggle');
    await shown.fill('question-field-guests', '4');
    await take('inspect-question');
});

test('a call on both eras', async (test) => {
    const { shown, take } = await pictured(test, ['--', FIXTURE, 'serve']);
    await shown.tool('book');
    await shown.press('run-both');
    for (const era of ['handshake', 'stateless']) {
        await shown.state(`both-side-${era}`, 'asking');
        await shown.fill('question-field-guests', '4');
        await shown.press('question-accept');
    }
    await shown.state('both-verdict', 'equal');
    await shown.press('drawer-toggle');
    await shown.at('both-rounds').scrollIntoViewIfNeeded();
    await take('inspect-both-eras');
});

test('the time axis, and how long answers took', async (test) => {
    const { shown, take } = await pictured(test, example('notes'));
    for (let number = 1; number <= 12; number += 1) await saveNote(shown, `Note ${number}`);
    await largeDrawer(shown);
    await shown.drawer('timeline');
    await shown.at('timeline').waitFor();
    await take('inspect-timeline');
    await shown.drawer('latency');
    await shown.at('histogram').waitFor();
    await take('inspect-latency');
});

test('what the doctor finds', async (test) => {
    // Over HTTP: the doctor shows the path of a program, which is another one on each machine.
    const { url } = await fixtureOverHttp(test);
    const { shown, take } = await pictured(test, [url]);
    await shown.press('view-doctor');
    await shown.state('doctor', 'ok', 'findings');
    await take('inspect-doctor');
});

test('all servers of a configuration', async (test) => {
    // Over HTTP, for the same reason.
    const [shop, office] = [await fixtureOverHttp(test), await fixtureOverHttp(test)];
    const file = join(await folder(test), 'mcp.json');
    await writeFile(file, JSON.stringify({ mcpServers: { shop: { url: shop.url }, office: { url: office.url }, archive: { url: 'http://127.0.0.1:9/mcp' } } }));
    const { shown, take } = await pictured(test, ['--config', file]);
    await shown.press('view-hub');
    for (const name of ['shop', 'office']) await shown.state(`hub-server-${name}`, 'ready');
    await shown.state('hub-server-archive', 'unavailable', 'failed');
    await shown.at('collisions').waitFor();
    await shown.press('drawer-toggle');
    await take('inspect-hub');
});
