// Which servers does the inspector know, and which one is shown?

import { computed, signal } from '@preact/signals';
import { get } from '../api/request';
import type { Server, State } from '../api/types';
import { setClock, sinceStart, timeOfDay } from './clock';

export const program = signal('');
export const mode = signal<State['mode']>('server');
export const recording = signal<State['recording']>(null);
export const servers = signal<Server[]>([]);
export const currentId = signal(0);
export const server = computed<Server | null>(
    () => servers.value.find((server) => server.id === currentId.value) ?? servers.value[0] ?? null,
);

/** Reads the whole state; returns the number of the last event that it contains. */
export async function readState(): Promise<number> {
    const state = await get<State>('/api/state');
    setClock(state.now_ms);
    program.value = state.program;
    mode.value = state.mode;
    recording.value = state.recording;
    servers.value = state.servers;
    return state.event;
}

/** Changes one server in place. */
export function patchServer(id: number, change: Partial<Server>): void {
    servers.value = servers.value.map((server) => (server.id === id ? { ...server, ...change } : server));
}

/** When a frame of the shown server went by: the time of day, or the time within a recording. */
export function timeOf(ms: number): string {
    return server.value?.over === 'recording' ? sinceStart(ms) : timeOfDay(ms);
}

export function serverName(id: number): string {
    return servers.value.find((server) => server.id === id)?.name ?? `server ${id}`;
}

/** The number that stands for a cost, since each provider counts in its own way. */
export function tokenCount(tokens: Record<string, number> | null | undefined): number {
    if (!tokens) return 0;
    return tokens.anthropic ?? Math.max(0, ...Object.values(tokens));
}
