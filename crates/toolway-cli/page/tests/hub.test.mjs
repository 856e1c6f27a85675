// Does the hub view show all servers of a configuration, their names, collisions and cost?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open } from './browser.mjs';
import { configuration } from './configuration.mjs';
import { inspect } from './inspector.mjs';

test('the hub shows the state, tools and cost of each server, and names that collide', async (test) => {
    const view = await open(test, await inspect(test, ['--config', await configuration(test)]));
    await view.press('view-hub');
    for (const name of ['first', 'second', 'moody']) await view.state(`hub-server-${name}`, 'ready');
    const broken = await view.state('hub-server-broken', 'unavailable', 'failed');
    assert.ok(broken);
    assert.match(await view.text('hub-server-moody'), /13\s+~\d+/);
    await view.says('collisions', /add\s+of first, second/);
    await view.says('hub', /Names as models see them/);
    await view.says('hub-tokens', /~[\d\u2009]+ tokens together/);
});

test('a server of the hub is chosen, called and seen on its own', async (test) => {
    const view = await open(test, await inspect(test, ['--config', await configuration(test)]));
    await view.press('view-hub');
    await view.state('hub-server-moody', 'ready');
    await view.at('hub-server-moody').getByRole('button', { name: 'moody' }).click();
    await view.tool('greet');
    await view.run();
    await view.at('server-chooser').selectOption({ label: 'first' });
    await view.ready();
    await view.tool('wild');
    await view.run();
    await view.fill('frame-filter', 'greet');
    await view.says('frame-count', /^0 of/);
});
