// Which calls were made, how are they, and which one does an element show?

import { computed, signal } from '@preact/signals';
import { get, post } from '../api/request';
import type { Both, Call, CallSummary, JsonText } from '../api/types';
import { keepTicking } from './clock';
import { notify } from './notices';
import { words } from '../api/request';

export const calls = signal(new Map<number, CallSummary>());
export const details = signal(new Map<number, Call>());
export const comparisons = signal(new Map<number, Both>());

/** What an element's pane shows below its form, by the key of the element. */
export type Shown = { call: number } | { both: number };
export const shown = signal<Record<string, Shown>>({});

export const newestFirst = computed(() => [...calls.value.values()].sort((a, b) => b.id - a.id));

export function isOver(call: CallSummary): boolean {
    return call.state !== 'running' && call.state !== 'asking';
}

const waiting = new Map<number, (call: Call) => void>();

/** Takes a summary of the stream of events or of the list. */
export function takeSummary(summary: CallSummary): void {
    calls.value = new Map(calls.value).set(summary.id, summary);
    keepTicking([...calls.value.values()].some((call) => !isOver(call)));
    if (summary.both !== null) void readBoth(summary.both);
    if (!isOver(summary)) return;
    const shownNow = Object.values(shown.value).some((shown) => 'call' in shown && shown.call === summary.id);
    if (shownNow || waiting.has(summary.id)) void readDetails(summary.id);
}

/** Reads a finished call's result once. */
export async function readDetails(id: number): Promise<void> {
    if (details.peek().has(id)) return;
    try {
        const call = await get<Call>(`/api/call?id=${id}`);
        if (!isOver(call)) return;
        details.value = new Map(details.value).set(id, call);
        waiting.get(id)?.(call);
        waiting.delete(id);
    } catch (problem) {
        notify(words(problem));
    }
}

/** Reads the calls that were made before this page was opened. */
export async function readCalls(server: number): Promise<void> {
    const { calls: earlier } = await get<{ calls: CallSummary[] }>(`/api/calls?server=${server}`);
    const all = new Map(calls.value);
    for (const call of earlier) all.set(call.id, call);
    calls.value = all;
    keepTicking([...all.values()].some((call) => !isOver(call)));
}

export interface CallRequest {
    server: number;
    kind: CallSummary['kind'];
    name: string;
    uri?: string;
    template?: string;
    arguments?: JsonText;
    argument?: string;
    typed?: string;
    timeout_ms?: number;
    meta?: JsonText;
    answers?: { message: string; action: string; content: JsonText | null }[];
}

/** Starts a call and shows it under `key`; the stream of events tells how it goes. */
export async function startCall(key: string, request: CallRequest): Promise<void> {
    try {
        const { call } = await post<{ call: number }>('/api/call', request);
        shown.value = { ...shown.value, [key]: { call } };
        const summary = calls.peek().get(call);
        if (summary && isOver(summary)) await readDetails(call);
    } catch (problem) {
        notify(words(problem));
    }
}

/** Makes a call of which only the end matters: a completion. */
export async function callAndWait(request: CallRequest): Promise<Call> {
    const { call } = await post<{ call: number }>('/api/call', request);
    const over = new Promise<Call>((resolve) => waiting.set(call, resolve));
    const summary = calls.peek().get(call);
    if (summary && isOver(summary)) void readDetails(call);
    return over;
}

export async function cancelCall(id: number): Promise<void> {
    await post('/api/cancel', { call: id }).catch((problem) => notify(words(problem)));
}

export async function startBoth(key: string, server: number, tool: string, args: JsonText, timeoutMs?: number): Promise<void> {
    try {
        const { both } = await post<{ both: number }>('/api/both', { server, tool, arguments: args, timeout_ms: timeoutMs });
        shown.value = { ...shown.value, [key]: { both } };
        await readBoth(both);
    } catch (problem) {
        notify(words(problem));
    }
}

export async function readBoth(id: number): Promise<void> {
    try {
        const both = await get<Both>(`/api/both?id=${id}`);
        comparisons.value = new Map(comparisons.value).set(id, both);
    } catch (problem) {
        notify(words(problem));
    }
}

/** The newest call that is not over, for `Esc`. */
export function runningCall(): CallSummary | undefined {
    return newestFirst.peek().find((call) => !isOver(call));
}
