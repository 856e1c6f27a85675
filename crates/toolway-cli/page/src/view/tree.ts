// Which rows does the side list have, and which one is marked?
//
// All rows are in one flat list, so that it can be windowed and walked with two keys.

import { computed, signal } from '@preact/signals';
import { server, tokenCount } from '../state/servers';
import { select, selection, type ElementKind, type Selection } from '../state/selection';

export type Row =
    | { type: 'group'; id: ElementKind; label: string; count: number; total: number; tokens: number; open: boolean; problem: string | null }
    | { type: 'element'; kind: ElementKind; name: string; label: string; tokens: number; marks: string[]; place: number; of: number };

export const search = signal('');
const closed = signal<ReadonlySet<ElementKind>>(new Set());
/** The marked row, by number. */
export const active = signal(-1);

const LABELS: [ElementKind, string, string][] = [
    ['tool', 'Tools', 'tools'],
    ['resource', 'Resources', 'resources'],
    ['template', 'Templates', 'templates'],
    ['prompt', 'Prompts', 'prompts'],
];

interface Entry {
    name: string;
    label: string;
    text: string;
    tokens: number;
    marks: string[];
}

/** All elements by kind, with the text that a search looks through. */
const entries = computed<Record<ElementKind, Entry[]>>(() => {
    const at = server.value;
    const lower = (...texts: (string | null | undefined)[]) => texts.filter(Boolean).join('\n').toLowerCase();
    const element = (element: { name: string; uri: string; title?: string | null; description?: string | null; hidden: string[] }): Entry => ({
        name: element.uri,
        label: element.name,
        text: lower(element.name, element.uri, element.title, element.description),
        tokens: 0,
        marks: element.hidden.length > 0 ? ['hidden'] : [],
    });
    return {
        tool: (at?.tools ?? []).map((tool) => ({
            name: tool.name,
            label: tool.name,
            text: lower(tool.name, tool.title, tool.description),
            tokens: tokenCount(tool.tokens),
            marks: [
                ...(tool.annotations?.destructiveHint && !tool.annotations.readOnlyHint ? ['destructive'] : []),
                ...(tool.hidden.length > 0 ? ['hidden'] : []),
            ],
        })),
        resource: (at?.resources ?? []).map(element),
        template: (at?.templates ?? []).map(element),
        prompt: (at?.prompts ?? []).map((prompt) => ({
            name: prompt.name,
            label: prompt.name,
            text: lower(prompt.name, prompt.title, prompt.description),
            tokens: 0,
            marks: prompt.hidden.length > 0 ? ['hidden'] : [],
        })),
    };
});

export const rows = computed<Row[]>(() => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all: Row[] = [];
    for (const [kind, label, list] of LABELS) {
        const entriesOfKind = entries.value[kind];
        const problem = server.value?.lists[list] ?? null;
        const matching = words.length === 0 ? entriesOfKind : entriesOfKind.filter((entry) => words.every((word) => entry.text.includes(word)));
        if (entriesOfKind.length === 0 && problem === null && kind !== 'tool') continue;
        if (words.length > 0 && matching.length === 0) continue;
        const open = words.length > 0 || !closed.value.has(kind);
        const tokens = matching.reduce((sum, entry) => sum + entry.tokens, 0);
        all.push({ type: 'group', id: kind, label, count: matching.length, total: entriesOfKind.length, tokens, open, problem });
        if (!open) continue;
        matching.forEach((entry, index) => {
            const { name, label, tokens, marks } = entry;
            all.push({ type: 'element', kind, name, label, tokens, marks, place: index + 1, of: matching.length });
        });
    }
    return all;
});

export function toggle(kind: ElementKind): void {
    const next = new Set(closed.value);
    if (!next.delete(kind)) next.add(kind);
    closed.value = next;
}

export function moveActive(step: number): void {
    const last = rows.peek().length - 1;
    active.value = Math.max(0, Math.min(last, active.peek() + step));
}

export function openActive(): void {
    const row = rows.peek()[active.peek()];
    if (row) open(row);
}

export function open(row: Row): void {
    if (row.type === 'group') toggle(row.id);
    else select({ kind: row.kind, name: row.name });
}

export function isSelected(row: Row): boolean {
    const chosen: Selection = selection.value;
    return row.type === 'element' && 'name' in chosen && chosen.kind === row.kind && chosen.name === row.name;
}
