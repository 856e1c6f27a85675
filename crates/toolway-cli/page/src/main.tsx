// How does the page begin?
//
// The link of the terminal holds a code, which is traded for a token and removed from the address.

import { effect } from '@preact/signals';
import { render } from 'preact';
import { enter, Refusal, token, words } from './api/request';
import { start } from './state/events';
import { followFrames } from './state/frames';
import { end, page } from './state/page';
import { server } from './state/servers';
import { App } from './view/app';
import { listenToKeys } from './view/shortcuts';

const root = document.getElementById('page')!;

effect(() => {
    root.dataset.state = page.value.state;
});
effect(() => {
    const name = server.value?.info?.name ?? server.value?.name;
    document.title = name ? `${name} – Toolway inspector` : 'Toolway inspector';
});

async function begin(): Promise<void> {
    const code = location.hash.slice(1);
    if (code !== '') history.replaceState(null, '', location.pathname);
    try {
        if (code !== '') await enter(code);
        else if (token() === null) {
            end('no-link', '');
            return;
        }
    } catch (problem) {
        end('link', words(problem));
        return;
    }
    try {
        await start();
        followFrames();
        listenToKeys();
    } catch (problem) {
        if (page.peek().state !== 'ended') end(problem instanceof Refusal && problem.code === 'forbidden' ? 'token' : 'gone', words(problem));
    }
}

// A new link in the same tab changes only the fragment.
window.addEventListener('hashchange', () => {
    if (location.hash.length > 1) location.reload();
});
render(<App />, root);
void begin();
