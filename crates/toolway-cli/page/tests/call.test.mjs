// Does a tool's form call the tool, and does the page show how the call went?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open } from './browser.mjs';
import { inspect, ON_PIPE } from './inspector.mjs';

test('a form calls a tool and shows the result', async (test) => {
    const view = await open(test, await inspect(test, ON_PIPE));
    await view.ready();
    await view.tool('add');
    await view.fill('field-a', '2');
    await view.fill('field-b', '40');
    await view.state('call-form', 'fits');
    await view.run();
    assert.equal(await view.text('block-text'), '42');
});
