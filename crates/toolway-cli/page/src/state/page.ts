// Is the page loading, in use, or at its end?

import { signal } from '@preact/signals';

export type PageState =
    | { state: 'loading' }
    | { state: 'ready' }
    | { state: 'ended'; why: 'token' | 'link' | 'no-link' | 'gone'; message: string };

export const page = signal<PageState>({ state: 'loading' });

/** Shows the last message of this tab; nothing is asked of the server after it. */
export function end(why: 'token' | 'link' | 'no-link' | 'gone', message: string): void {
    page.value = { state: 'ended', why, message };
}
