// Which calls did the reader save for this tab?
//
// Arguments may hold secrets, so they stay in the tab: a cassette or an export is what lasts.

import { effect, signal } from '@preact/signals';
import type { JsonText } from '../api/types';
import { notify } from './notices';

export interface SavedCall {
    id: number;
    server: string;
    tool: string;
    arguments: JsonText;
}

const NAME = 'toolway-saved';

function read(): SavedCall[] {
    try {
        return JSON.parse(sessionStorage.getItem(NAME) ?? '[]') as SavedCall[];
    } catch {
        return [];
    }
}

export const savedCalls = signal<SavedCall[]>(read());

effect(() => {
    const text = JSON.stringify(savedCalls.value);
    try {
        sessionStorage.setItem(NAME, text);
    } catch {
        // Saved calls then live until the page is loaded again.
    }
});

export function saveCall(server: string, tool: string, args: JsonText): void {
    const others = savedCalls.value.filter((saved) => saved.server !== server || saved.tool !== tool || saved.arguments !== args);
    const id = Math.max(0, ...savedCalls.value.map((saved) => saved.id)) + 1;
    savedCalls.value = [...others, { id, server, tool, arguments: args }];
    notify('saved; the tab History has it', 'plain');
}

export function forgetSaved(id: number): void {
    savedCalls.value = savedCalls.value.filter((saved) => saved.id !== id);
}
