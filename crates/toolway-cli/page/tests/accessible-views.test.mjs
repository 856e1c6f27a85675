// Does axe-core find nothing in any view, empty and filled, in light and in dark?

import { test } from 'node:test';
import { open } from './browser.mjs';
import { configuration } from './configuration.mjs';
import { fine } from './examine.mjs';
import { inspect, ON_PIPE, scripted } from './inspector.mjs';

const DRAWER = ['frames', 'timeline', 'latency', 'log', 'stderr', 'news'];
const TOOL = ['call', 'schema', 'models', 'history'];

async function started(test, words) {
    const view = await open(test, await inspect(test, words));
    await view.ready();
    return view;
}

test('empty: a server that was not called yet', async (test) => {
    const view = await started(test, ON_PIPE);
    await fine(view, 'the server');
    for (const tab of DRAWER) {
        await view.drawer(tab);
        await fine(view, `an empty ${tab}`);
    }
    await view.tool('add');
    for (const tab of TOOL) {
        await view.press(`tool-tab-${tab}`);
        if (tab === 'models') await view.at('rendering').waitFor();
        await fine(view, `the empty tab ${tab}`);
    }
    await view.fill('search', 'nothing like this');
    await fine(view, 'a search without results');
});

test('filled: a call, its result in every form, and the drawer', async (test) => {
    const view = await started(test, scripted('moody', 'both'));
    await view.tool('count');
    await view.run();
    await view.press('run');
    await view.state('call-2', 'ok');
    for (const tab of ['blocks', 'structured', 'raw', 'diff']) {
        await view.press(`result-${tab}`);
        await fine(view, `the result as ${tab}`);
    }
    await view.at('mode-json').check();
    await fine(view, 'arguments as JSON');
    await view.press('copy-as');
    await fine(view, 'an open menu');
    await view.key('Escape');
    await view.press('save-call');
    await view.press('tool-tab-history');
    await fine(view, 'the history');
    await view.press('tool-tab-call');
    await view.tool('log');
    await view.run();
    for (const tab of DRAWER) {
        await view.drawer(tab);
        await fine(view, `a filled ${tab}`);
    }
    await view.drawer('frames');
    await view.openFrame('tool:log method:tools/call dir:out');
    await fine(view, 'an open frame');
});

test('filled: both eras, questions and a change of the list', async (test) => {
    const view = await started(test, scripted('moody', 'both'));
    await view.tool('differ');
    await view.press('run-both');
    await view.state('both-verdict', 'different');
    await fine(view, 'both eras, different');
    await view.tool('ask_twice');
    await view.run('asking');
    await fine(view, 'a question');
    await view.press('question-decline');
    await view.says('question-message', /How old/);
    await view.press('question-cancel');
    await view.ends('ok');
    await view.at('revision').selectOption('2025-11-25');
    await view.says('connection', /ready/);
    await view.page.getByTestId('notices').waitFor({ state: 'attached' });
    await view.tool('change');
    await view.run();
    await view.press('catalog-details');
    await fine(view, 'changes of the list');
});

test('filled: resources, templates with suggestions, prompts', async (test) => {
    const view = await started(test, ON_PIPE);
    await view.press('resource-about');
    await view.press('read');
    await view.ends('ok');
    await fine(view, 'a resource');
    await view.press('template-city');
    await view.at('argument-name').pressSequentially('Be');
    await view.says('suggestions-name', /Bern/);
    await fine(view, 'suggestions');
    await view.press('prompt-sights');
    await fine(view, 'a prompt');
});

test('filled: doctor, hub, recordings, palette and keys', async (test) => {
    const view = await open(test, await inspect(test, ['--config', await configuration(test)]));
    await view.press('view-hub');
    await view.state('hub-server-moody', 'ready');
    await view.state('hub-server-broken', 'unavailable', 'failed');
    await fine(view, 'the hub');
    await view.press('view-doctor');
    await view.state('doctor', 'ok', 'findings', 'failed');
    await fine(view, 'the doctor');
    await view.press('view-recordings');
    await fine(view, 'recordings');
    await view.key('Control+k');
    await fine(view, 'the palette');
    await view.key('Escape', '?');
    await fine(view, 'the keys');
});
