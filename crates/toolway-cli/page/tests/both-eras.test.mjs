// Does a tool say the same in both eras, and does the page show where not?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open } from './browser.mjs';
import { fixtureOverHttp, inspect, ON_PIPE, scripted } from './inspector.mjs';

const PARTS = ['content', 'structuredContent', 'isError', '_meta'];

async function compare(view, tool) {
    await view.tool(tool);
    await view.press('run-both');
}

async function moody(test) {
    const view = await open(test, await inspect(test, scripted('moody', 'both')));
    await view.ready();
    return view;
}

test('equal results are called equal, part by part, side by side', async (test) => {
    const view = await moody(test);
    await compare(view, 'same');
    await view.state('both-verdict', 'equal');
    for (const part of PARTS) await view.state(`both-part-${part}`, 'equal');
    await view.says('both-side-handshake', /2025-11-25[^]*initialize[^]*tools\/call[^]*result/);
    await view.says('both-side-stateless', /2026-07-28[^]*tools\/call[^]*result/);
    const [left, right] = await Promise.all(['handshake', 'stateless'].map((era) => view.at(`both-side-${era}`).boundingBox()));
    assert.ok(left.x + left.width <= right.x && Math.abs(left.y - right.y) < 2, 'the eras are side by side');
});

test('one byte that differs is shown with its place', async (test) => {
    const view = await moody(test);
    await compare(view, 'differ');
    await view.state('both-verdict', 'different');
    await view.state('both-part-content', 'different');
    await view.state('both-part-structuredContent', 'equal');
    const row = await view.at('differences').locator('tbody tr').allInnerTexts();
    assert.equal(row.length, 1);
    assert.match(row[0], /0\/text\s+"equal but for one byte"\s+"equal but for one byte\."/);
});

test('a tool that asks twice is answered in each column, and its rounds are matched', async (test) => {
    const view = await moody(test);
    await compare(view, 'ask_twice');
    for (const era of ['handshake', 'stateless']) {
        const side = view.at(`both-side-${era}`);
        await side.getByTestId('question-field-name').fill('Ada');
        await side.getByTestId('question-accept').click();
        await side.getByTestId('question-field-age').fill('36');
        await side.getByTestId('question-accept').click();
        await view.state(`both-side-${era}`, 'ok');
    }
    await view.state('both-verdict', 'equal');
    const rounds = await view.text('both-rounds');
    assert.match(rounds, /elicitation\/create/);
    assert.match(rounds, /input_required/);
});

test('the tools of the fixture that ask nothing are equal in both eras, over HTTP', async (test) => {
    const { url } = await fixtureOverHttp(test);
    const view = await open(test, await inspect(test, [url]));
    await view.ready();
    await view.tool('add');
    await view.fill('field-a', '1');
    await view.fill('field-b', '2');
    await view.state('call-form', 'fits');
    await view.press('run-both');
    await view.state('both-verdict', 'equal');
    await view.tool('fail');
    await view.fill('field-reason', 'no');
    await view.state('call-form', 'fits');
    await view.press('run-both');
    await view.state('both-2', 'equal');
    let number = 2;
    for (const name of ['work', 'draw', 'facts', 'wild', 'empty']) {
        await compare(view, name);
        number += 1;
        await view.state(`both-${number}`, 'equal');
    }
});

test('a question that asks the same in both eras is equal when it is answered the same', async (test) => {
    const view = await open(test, await inspect(test, ON_PIPE));
    await view.ready();
    await compare(view, 'book');
    for (const era of ['handshake', 'stateless']) {
        const side = view.at(`both-side-${era}`);
        await side.getByTestId('question-field-guests').fill('4');
        await side.getByTestId('question-accept').click();
        await view.state(`both-side-${era}`, 'ok');
    }
    await view.state('both-verdict', 'equal');
    await view.press('tool-tab-history');
    await view.says('history-2', /both eras/);
});

test('a server with one era says why there is nothing to compare', async (test) => {
    const view = await open(test, await inspect(test, scripted('moody')));
    await view.ready();
    await compare(view, 'same');
    await view.state('both-verdict', 'failed');
    await view.says('both-error', /2026-07-28/);
});
