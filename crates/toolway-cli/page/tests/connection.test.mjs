// Does the page show what becomes of a connection, and of the inspector itself?

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { open } from './browser.mjs';
import { FIXTURE, fixtureOverHttp, freePort, inspect, ON_PIPE, scripted } from './inspector.mjs';

test('cut after 37 events of a stream: the rest arrives on another one, and nothing twice', async (test) => {
    const { url } = await fixtureOverHttp(test);
    const view = await open(test, await inspect(test, ['--protocol', '2025-11-25', url]));
    await view.ready();
    await view.drawer('log');
    await view.at('log-level').selectOption('debug');
    await view.tool('work');
    await view.fill('field-steps', '50');
    await view.state('call-form', 'fits');
    await view.press('cut');
    await view.fill('cut-events', '37');
    await view.press('cut-after');
    await view.says('notice', /cut after 37 events/);
    await view.run('ok');
    assert.equal(await view.text('block-text'), 'done');
    await view.drawer('frames');
    // 50 times progress and a log message, and the result.
    await view.fill('frame-filter', 'method:notifications/progress');
    await view.says('frame-count', /^50 of/);
    await view.fill('frame-filter', 'method:notifications/message');
    await view.says('frame-count', /^50 of/);
    await view.drawer('news');
    await view.says('news-line', /cut after/);
});

test('cut now over HTTP: the session goes on', async (test) => {
    const { url } = await fixtureOverHttp(test);
    const view = await open(test, await inspect(test, ['--protocol', '2025-11-25', url]));
    await view.ready();
    await view.press('cut');
    await view.press('cut-now');
    await view.says('notice', /resumed after their last event/);
    await view.state('connection', 'ready');
    await view.tool('wild');
    await view.run();
});

test('cut now on a pipe: the page says what is lost, and the program starts again', async (test) => {
    const view = await open(test, await inspect(test, ON_PIPE));
    await view.ready();
    await view.tool('wait');
    await view.press('run');
    await view.says('progress', /waiting/);
    await view.press('cut');
    await view.press('cut-now');
    await view.says('notice', /what the program kept in memory is lost/);
    await view.ends('failed');
    await view.state('connection', 'ready');
    await view.tool('wild');
    await view.run();
});

test('a restart makes a new connection', async (test) => {
    const view = await open(test, await inspect(test, scripted('moody')));
    await view.ready();
    await view.tool('count');
    await view.run();
    await view.press('restart');
    await view.drawer('news');
    await view.page.getByTestId('news-line').filter({ hasText: 'connected' }).nth(1).waitFor();
    await view.ready();
    await view.press('run');
    await view.state('call-2', 'ok');
    assert.equal(await view.text('block-text'), 'call 1');
});

test('another revision is another connection', async (test) => {
    const view = await open(test, await inspect(test, ON_PIPE));
    await view.ready();
    await view.says('server', /2026-07-28/);
    await view.at('revision').selectOption('2025-06-18');
    await view.says('server', /2025-06-18 handshake era/);
    await view.ready();
    await view.at('revision').selectOption('');
    await view.says('server', /2026-07-28 stateless era/);
});

test('a program that dies at once is shown with what it wrote', async (test) => {
    const view = await open(test, await inspect(test, ['--', FIXTURE, 'die']));
    await view.state('connection', 'failed');
    await view.says('connection-error', /cannot_start|start|exit/);
    await view.says('connection-hint', /doctor/);
    assert.equal(await view.at('connection-hint').getByRole('button').count(), 0, 'a sentence is not copied');
    await view.drawer('stderr');
    await view.says('stderr-line', /no configuration/);
    await view.press('ask-doctor');
    await view.state('doctor', 'findings', 'failed');
});

test('a server that is not there is shown with what to do', async (test) => {
    const view = await open(test, await inspect(test, [`http://127.0.0.1:${await freePort()}/mcp`]));
    await view.state('connection', 'failed');
    await view.says('connection-error', /refused/);
});

test('a server that asks to sign in is shown with a command to copy', async (test) => {
    const server = createServer((_, response) => response.writeHead(401, { 'www-authenticate': 'Bearer' }).end());
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    test.after(() => server.close());
    const url = `http://127.0.0.1:${server.address().port}/mcp`;
    const view = await open(test, await inspect(test, [url]));
    await view.state('connection', 'failed');
    await view.says('connection-hint', /sign in with `toolway login/);
    await view.at('connection-hint').getByRole('button').click();
    await view.says('connection-hint', /Copied/);
    assert.equal(await view.clipboard(), `toolway login ${url}`);
});

test('a list that cannot be read is told, and the rest is shown', async (test) => {
    const view = await open(test, await inspect(test, ['--', FIXTURE, 'no-list']));
    await view.ready();
    await view.says('list-error-tools', /the database is gone/);
});

test('a server that sends rubbish leaves the page usable', async (test) => {
    const view = await open(test, await inspect(test, ['--timeout', '1', '--', FIXTURE, 'rubbish']));
    await view.says('frame-count', /frame/);
    await view.page.getByText('Welcome to the server!').first().waitFor();
    await view.state('connection', 'failed');
});

test('a link that was used says so, and Enter in the terminal gives a new one', async (test) => {
    const inspector = await inspect(test, ON_PIPE);
    await open(test, inspector);
    const second = await open(test, inspector, { until: 'ended' });
    await second.state('ended', 'link');
    await second.says('ended-message', /has been used/);
    const third = await open(test, { ...inspector, url: await inspector.newLink() });
    await third.ready();
});

test('a page without a link asks for one', async (test) => {
    const inspector = await inspect(test, ON_PIPE);
    const view = await open(test, { ...inspector, url: `${inspector.origin}/` }, { until: 'ended' });
    await view.state('ended', 'no-link');
});

test('a page of an earlier inspector says that it has ended', async (test) => {
    const port = await freePort();
    const first = await inspect(test, ON_PIPE, { port });
    const view = await open(test, first);
    await view.ready();
    await first.stop();
    await view.state('page', 'ended');
    await view.state('ended', 'gone');
    await inspect(test, ON_PIPE, { port });
    await view.press('reload');
    await view.state('ended', 'token');
});

test('the address keeps no code, and a reload needs no new link', async (test) => {
    const view = await open(test, await inspect(test, ON_PIPE));
    assert.equal(view.page.url(), `${view.inspector.origin}/`);
    await view.page.reload();
    await view.state('page', 'ready');
    await view.ready();
});
