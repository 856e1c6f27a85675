// Which choices of the reader survive the tab?
//
// They hold no data of a peer, because any program that listens on this port later could read them.

import { effect, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

function kept<T>(name: string, otherwise: T) {
    let first = otherwise;
    try {
        first = JSON.parse(localStorage.getItem(`toolway-${name}`) ?? 'null') ?? otherwise;
    } catch {
        // A broken or forbidden store is the same as an empty one.
    }
    const choice = signal<T>(first);
    effect(() => {
        const text = JSON.stringify(choice.value);
        try {
            localStorage.setItem(`toolway-${name}`, text);
        } catch {
            // The choice holds until the tab is closed.
        }
    });
    return choice;
}

export const theme = kept<Theme>('theme', 'system');
export const singleKeys = kept<boolean>('single-keys', true);
export const drawerOpen = kept<boolean>('drawer-open', true);
export const drawerHeight = kept<number>('drawer-height', 300);

effect(() => {
    const { dataset } = document.documentElement;
    if (theme.value === 'system') delete dataset.theme;
    else dataset.theme = theme.value;
});
