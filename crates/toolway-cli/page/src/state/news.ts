// What did the servers tell on their own: log messages, notifications, and what happened to the connection?

import { signal } from '@preact/signals';
import type { CatalogDiff, Connection, JsonText } from '../api/types';

export interface LogLine {
    n: number;
    t_ms: number;
    server: number;
    level: string;
    logger: string | null;
    data: JsonText;
}

export interface News {
    n: number;
    t_ms: number;
    server: number | null;
    kind: 'notification' | 'note' | 'catalog' | 'connection' | 'gap';
    text: string;
    diff?: CatalogDiff;
}

export interface ConnectionChange {
    t_ms: number;
    server: number;
    state: Connection['state'];
}

const KEPT = 10_000;

export const log = signal<LogLine[]>([]);
export const news = signal<News[]>([]);
export const connectionChanges = signal<ConnectionChange[]>([]);

export function addLog(lines: LogLine[]): void {
    if (lines.length > 0) log.value = [...log.value, ...lines].slice(-KEPT);
}

export function addNews(items: News[]): void {
    if (items.length > 0) news.value = [...news.value, ...items].slice(-KEPT);
}

export function addConnectionChange(change: ConnectionChange): void {
    connectionChanges.value = [...connectionChanges.value, change].slice(-KEPT);
}
