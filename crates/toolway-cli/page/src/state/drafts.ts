// What has the reader typed for an element, and does it fit the element's schema?
//
// The server checks: each change asks it a moment later, and only the newest answer counts.

import { signal } from '@preact/signals';
import { post, words } from '../api/request';
import type { Check, Field, JsonText, Tool } from '../api/types';

export interface Draft {
    mode: 'form' | 'json';
    values: Record<string, string>;
    text: JsonText;
    timeout: string;
    meta: JsonText | null;
    check: Check | null;
}

export const drafts = signal<Record<string, Draft>>({});

const NEW: Draft = { mode: 'form', values: {}, text: '{}', timeout: '60', meta: null, check: null };

export function draftOf(key: string, tool?: Tool): Draft {
    return drafts.value[key] ?? { ...NEW, mode: tool && !tool.form ? 'json' : 'form' };
}

export function changeDraft(key: string, change: Partial<Draft>, tool?: Tool): void {
    drafts.value = { ...drafts.value, [key]: { ...draftOf(key, tool), ...change } };
}

/** The words of the form, in the order of the schema. Empty optional fields, and untouched ones, are left out. */
export function fieldWords(fields: Field[], values: Record<string, string>): [string, string][] {
    const words: [string, string][] = [];
    for (const field of fields) {
        const value = valueOf(values, field.name);
        if (value === undefined || (value === '' && (!field.required || field.kind !== 'text'))) continue;
        words.push([field.name, value]);
    }
    return words;
}

/** The value of a field. A server may name a field `constructor`, which every object seems to have. */
export function valueOf(values: Record<string, string>, name: string): string | undefined {
    return Object.hasOwn(values, name) ? values[name] : undefined;
}

export function timeoutMs(draft: Draft): number | undefined {
    const seconds = Number(draft.timeout);
    return draft.timeout.trim() !== '' && Number.isFinite(seconds) && seconds > 0 ? Math.round(seconds * 1000) : undefined;
}

const sequence = new Map<string, number>();
const timers = new Map<string, ReturnType<typeof setTimeout>>();
const DELAY_MS = 150;

/** Asks for a check once the reader pauses. */
export function checkSoon(key: string, server: number, tool: Tool): void {
    clearTimeout(timers.get(key));
    timers.set(key, setTimeout(() => void checkNow(key, server, tool), DELAY_MS));
}

/** Asks for a check of the draft as it is now; returns its answer, also when a newer one replaces it on the page. */
export async function checkNow(key: string, server: number, tool: Tool): Promise<Check> {
    clearTimeout(timers.get(key));
    const number = (sequence.get(key) ?? 0) + 1;
    sequence.set(key, number);
    const draft = draftOf(key, tool);
    const content = draft.mode === 'json' ? { text: draft.text } : { fields: fieldWords(tool.fields, draft.values) };
    let check: Check;
    try {
        check = await post<Check>('/api/check', { server, tool: tool.name, ...content });
    } catch (problem) {
        check = { ok: false, arguments: null, problems: [words(problem)], at: null };
    }
    if (sequence.get(key) === number) changeDraft(key, { check }, tool);
    return check;
}
