// Can everything be done with the keyboard alone?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open } from './browser.mjs';
import { inspect, ON_PIPE, scripted } from './inspector.mjs';

async function fixture(test) {
    const view = await open(test, await inspect(test, ON_PIPE));
    await view.ready();
    return view;
}

test('from opening to export with the keyboard alone', async (test) => {
    const view = await fixture(test);
    // The pointer would leave a trace in the page.
    await view.page.evaluate(() => document.addEventListener('pointerdown', () => (globalThis.pointed = true), true));
    await view.key('/');
    await view.type('add num');
    await view.key('Enter');
    await view.says('element-name', /^add$/);
    await view.state('call-form', 'fits', 'differs');
    await view.key('Escape');
    await tabTo(view, 'field-a');
    await view.type('2');
    await view.key('Tab');
    await view.type('40');
    await view.state('call-form', 'fits');
    await view.key('Control+Enter');
    await view.ends('ok');
    assert.equal(await view.text('block-text'), '42');
    await view.page.evaluate(() => document.activeElement.blur());
    await view.key('r');
    await view.state('call-2', 'ok');
    await view.key('b');
    await view.state('both-verdict', 'equal');
    await view.key('Control+k');
    await view.type('repeat');
    await view.key('Enter');
    await view.state('call-state', 'ok');
    for (const [key, tab] of [['2', 'timeline'], ['3', 'latency'], ['4', 'log'], ['5', 'stderr'], ['6', 'news'], ['1', 'frames']]) {
        await view.key(key);
        await view.state('drawer', tab);
    }
    await tabTo(view, 'frames');
    await view.key('End');
    await view.at('frame-json').waitFor();
    await view.key('Escape');
    await view.gone('frame-detail');
    await view.page.evaluate(() => document.activeElement.blur());
    await view.key('y');
    await view.at('copy-as-toolway').waitFor();
    await view.key('ArrowDown', 'Enter');
    await view.says('notice', /copied as toolway call/);
    assert.match(await view.clipboard(), /^toolway call .*add/);
    assert.equal(await view.page.evaluate(() => globalThis.pointed), undefined);
});

test('a question is answered with the keyboard', async (test) => {
    const view = await fixture(test);
    await view.key('/');
    await view.type('book');
    await view.key('Enter');
    await view.state('call-form', 'fits');
    await view.key('Control+Enter');
    await view.ends('asking');
    await tabTo(view, 'question-field-guests');
    await view.type('4');
    await tabTo(view, 'question-accept');
    await view.key('Enter');
    await view.ends('ok');
});

test('Esc cancels the running call', async (test) => {
    const view = await fixture(test);
    await view.tool('wait');
    await view.page.evaluate(() => document.activeElement.blur());
    await view.key('Control+Enter');
    await view.ends('running');
    await view.key('Escape');
    await view.ends('cancelled');
});

test('x cuts the connection', async (test) => {
    const view = await fixture(test);
    await view.key('x');
    await view.says('notice', /connection was cut/);
    await view.ready();
});

test('j, k and Enter walk through the list; arrows do in the tree', async (test) => {
    const view = await fixture(test);
    await view.key('j', 'j', 'k', 'j', 'Enter');
    await view.says('element-name', /^add$/);
    await view.at('tree').focus();
    await view.key('Home', 'ArrowLeft');
    await view.gone('tool-add');
    await view.key('ArrowRight');
    await view.at('tool-add').waitFor();
    await view.key('End', 'Enter');
    await view.says('element-name', /^sights$/);
});

test('the palette finds commands and elements, and Esc closes it', async (test) => {
    const view = await fixture(test);
    await view.key('Control+k');
    await view.at('palette').waitFor();
    await view.type('sights');
    await view.key('Enter');
    await view.gone('palette');
    await view.says('element-name', /^sights$/);
    await view.key('Control+k', 'Escape');
    await view.gone('palette');
    await view.key('Control+k');
    await view.type('zzzz');
    await view.page.getByText('Nothing has these words.').waitFor();
    await view.key('Escape', 'Control+k');
    await view.type('doctor');
    await view.key('Enter');
    await view.state('doctor', 'ok', 'findings');
});

test('? lists the keys, and single letters can be switched off', async (test) => {
    const view = await fixture(test);
    await view.key('?');
    const keys = await view.text('keys');
    for (const word of ['repeat the call', 'run on both eras', 'cut the connection', 'copy the call', 'search']) assert.ok(keys.includes(word), word);
    await view.at('single-keys').uncheck();
    await view.press('close-keys');
    await view.gone('keys');
    await view.page.evaluate(() => document.activeElement.blur());
    await view.key('2', '?');
    await view.state('drawer', 'frames');
    assert.equal(await view.at('keys').count(), 0);
    await view.page.reload();
    await view.ready();
    await view.key('2');
    await view.state('drawer', 'frames');
    await view.key('Control+k');
    await view.type('single letters on');
    await view.key('Enter');
    await view.gone('palette');
    await view.key('2');
    await view.state('drawer', 'timeline');
});

test('letters that are typed are not keys', async (test) => {
    const view = await open(test, await inspect(test, scripted('moody')));
    await view.ready();
    await view.tool('greet');
    await view.at('field-name').pressSequentially('rbxy2?/jk');
    assert.equal(await view.at('field-name').inputValue(), 'rbxy2?/jk');
    await view.state('drawer', 'frames');
    assert.equal(await view.at('call-state').count(), 0);
});

test('the focus comes back from a dialog and from a menu', async (test) => {
    const view = await fixture(test);
    await view.at('restart').focus();
    await view.key('Control+k', 'Escape');
    await view.gone('palette');
    assert.equal(await focused(view), 'restart');
    await view.at('theme').focus();
    await view.key('Enter');
    await view.at('theme-dark').waitFor();
    await view.key('Escape');
    await view.gone('theme-dark');
    assert.equal(await focused(view), 'theme');
});

test('themes: as the system, light and dark; the choice stays', async (test) => {
    const view = await fixture(test);
    const background = () => view.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await background();
    await view.press('theme');
    await view.press('theme-dark');
    await view.page.locator('html[data-theme="dark"]').waitFor();
    const dark = await background();
    assert.notEqual(dark, light);
    await view.page.reload();
    await view.ready();
    assert.equal(await background(), dark);
    await view.press('theme');
    await view.press('theme-system');
    await view.page.locator('html:not([data-theme])').waitFor();
    assert.equal(await background(), light);
    await view.page.emulateMedia({ colorScheme: 'dark' });
    assert.equal(await background(), dark);
    await view.page.emulateMedia({ forcedColors: 'active' });
    await view.tool('add');
    await view.at('run').waitFor();
});

/** Presses Tab until the element has the focus: that it can be reached is the point. */
async function tabTo(view, id) {
    for (let press = 0; press < 60; press += 1) {
        if ((await focused(view)) === id) return;
        await view.key('Tab');
    }
    assert.fail(`${id} is not reached with Tab`);
}

function focused(view) {
    return view.page.evaluate(() => document.activeElement?.dataset?.testid ?? null);
}
