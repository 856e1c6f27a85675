// What has to be told to the reader at once, wherever they look?

import { signal } from '@preact/signals';
import type { CatalogDiff } from '../api/types';

export type Notice = { id: number; server: number | null } & ({ text: string; tone: 'bad' | 'plain' } | { diff: CatalogDiff });

export const notices = signal<Notice[]>([]);
const SHOWN = 3;
let last = 0;

export function notify(text: string, tone: 'bad' | 'plain' = 'bad', server: number | null = null): void {
    add({ id: ++last, server, text, tone });
}

export function notifyOfCatalog(server: number, diff: CatalogDiff): void {
    add({ id: ++last, server, diff });
}

function add(notice: Notice): void {
    const same = (other: Notice) => 'text' in other && 'text' in notice && other.text === notice.text;
    notices.value = [...notices.value.filter((other) => !same(other)), notice].slice(-SHOWN);
}

/** Removes what only confirmed an action: the reader has gone on. */
export function dismissConfirmations(): void {
    notices.value = notices.value.filter((notice) => !('text' in notice && notice.tone === 'plain' && notice.server === null));
}

export function dismiss(id: number): void {
    notices.value = notices.value.filter((notice) => notice.id !== id);
}
