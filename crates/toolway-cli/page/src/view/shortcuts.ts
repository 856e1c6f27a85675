// What does each key do, wherever the focus is?
//
// Single letters do nothing while the reader types, and can be switched off (WCAG 2.1.4).

import { repeat, run, runBoth } from '../call/actions';
import { calls, cancelCall, runningCall, shown } from '../state/calls';
import { DRAWER_TABS, drawerTab, elementKey, found, openFrame } from '../state/selection';
import { drawerOpen, singleKeys } from '../state/settings';
import { server } from '../state/servers';
import { dialog, openDialog } from './dialogs';
import { moveActive, openActive } from './tree';
import { cutNow } from './top-bar';

export function listenToKeys(): void {
    document.addEventListener('keydown', (event) => {
        if (event.defaultPrevented || event.isComposing) return;
        const meta = event.ctrlKey || event.metaKey;
        if (meta && event.key.toLowerCase() === 'k') {
            event.preventDefault();
            openDialog('palette');
        } else if (dialog.peek() !== null) {
            return;
        } else if (meta && event.key === 'Enter') {
            event.preventDefault();
            runSelected();
        } else if (event.key === 'Escape') {
            escape();
        } else if (!meta && !event.altKey && !isTyping(event.target) && singleKeys.peek()) {
            // Enter on a control is that control's own.
            const act = event.key === 'Enter' && event.target === document.body ? openActive : LETTERS[event.key];
            if (!act) return;
            event.preventDefault();
            act();
        }
    });
}

function isTyping(target: EventTarget | null): boolean {
    return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) && !/^(checkbox|radio)$/.test((target as HTMLInputElement).type);
}

const LETTERS: Record<string, () => void> = {
    '/': () => document.getElementById('search')?.focus(),
    '?': () => openDialog('keys'),
    j: () => moveActive(1),
    k: () => moveActive(-1),
    r: repeatShown,
    b: () => {
        const what = found.peek();
        const key = elementKey.peek();
        const at = server.peek();
        if (what?.kind === 'tool' && key && at?.can.call) void runBoth(key, at.id, what.tool);
    },
    x: () => {
        const at = server.peek();
        if (at?.can.cut) cutNow(at);
    },
    y: () => document.querySelector<HTMLElement>('[data-testid="copy-as"]')?.click(),
    ...Object.fromEntries(
        DRAWER_TABS.map((tab, index) => [
            String(index + 1),
            () => {
                drawerOpen.value = true;
                drawerTab.value = tab;
            },
        ]),
    ),
};

export function runSelected(): void {
    const what = found.peek();
    const key = elementKey.peek();
    const at = server.peek();
    if (!what || !key || !at?.can.call) return;
    if (what.kind === 'tool') void run(key, at.id, what.tool);
    else document.querySelector<HTMLElement>('[data-testid="read"]')?.click();
}

export function repeatShown(): void {
    const key = elementKey.peek();
    const what = key ? shown.peek()[key] : undefined;
    const call = what && 'call' in what ? calls.peek().get(what.call) : undefined;
    if (key && call) void repeat(key, call);
    else runSelected();
}

/** Closes the open frame first, then cancels the newest running call. */
function escape(): void {
    if (openFrame.peek() !== null && document.activeElement?.closest('.drawer')) {
        openFrame.value = null;
        return;
    }
    const call = runningCall();
    if (call) void cancelCall(call.id);
}
