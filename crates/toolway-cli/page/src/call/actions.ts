// What happens when the reader runs, repeats, compares, saves or exports a call of a tool?

import { post, words } from '../api/request';
import type { Call, CallSummary, JsonText, Tool } from '../api/types';
import { copyText } from '../part/copy';
import { details, readDetails, startBoth, startCall } from '../state/calls';
import { changeDraft, checkNow, draftOf, timeoutMs } from '../state/drafts';
import { notify } from '../state/notices';
import { keptAnswers } from '../state/questions';
import { shown } from '../state/calls';

/** The arguments of the draft as JSON, checked once more; `null` when they cannot be sent at all. */
async function argumentsOf(key: string, server: number, tool: Tool): Promise<JsonText | null> {
    const check = await checkNow(key, server, tool);
    const draft = draftOf(key, tool);
    if (check.at !== null) return null;
    // The reader's own text is sent as it is: large numbers and the order of members survive.
    return draft.mode === 'json' ? draft.text : check.arguments;
}

export async function run(key: string, server: number, tool: Tool): Promise<void> {
    const args = await argumentsOf(key, server, tool);
    if (args === null) return;
    const draft = draftOf(key, tool);
    await startCall(key, {
        server,
        kind: 'tool',
        name: tool.name,
        arguments: args,
        timeout_ms: timeoutMs(draft),
        meta: draft.meta === null || draft.meta.trim() === '' ? undefined : draft.meta,
        answers: keptAnswers.peek()[key],
    });
}

export async function runBoth(key: string, server: number, tool: Tool): Promise<void> {
    const args = await argumentsOf(key, server, tool);
    if (args !== null) await startBoth(key, server, tool.name, args, timeoutMs(draftOf(key, tool)));
}

/** Calls again with the arguments of an earlier call. */
export async function repeat(key: string, call: CallSummary): Promise<void> {
    const whole = await wholeCall(call.id);
    if (whole === null) return;
    await startCall(key, {
        server: call.server,
        kind: call.kind,
        name: call.name,
        arguments: whole.arguments ?? undefined,
        answers: keptAnswers.peek()[key],
    });
}

/** Puts the arguments of an earlier call into the draft. */
export async function edit(key: string, call: CallSummary, tool: Tool): Promise<void> {
    const whole = await wholeCall(call.id);
    if (whole === null) return;
    changeDraft(key, { mode: 'json', text: whole.arguments ?? '{}', check: null }, tool);
    await checkNow(key, call.server, tool);
}

async function wholeCall(id: number): Promise<Call | null> {
    await readDetails(id);
    return details.peek().get(id) ?? null;
}

export type ExportAs = 'curl' | 'toolway' | 'rust' | 'cassette';

export const EXPORTS: { id: ExportAs; label: string; detail: string }[] = [
    { id: 'curl', label: 'curl', detail: 'one HTTP request' },
    { id: 'toolway', label: 'toolway call', detail: 'a line for the terminal' },
    { id: 'rust', label: 'Rust test', detail: 'for each wire' },
    { id: 'cassette', label: 'Cassette', detail: 'the frames of the call' },
];

/** Exports the shown call of an element to the clipboard. */
export async function exportShown(key: string, as: ExportAs): Promise<void> {
    const what = shown.peek()[key];
    if (!what || !('call' in what)) {
        notify('run the tool first: an export repeats a call that was made', 'plain');
        return;
    }
    await exportCall(what.call, as);
}

export async function exportCall(call: number, as: ExportAs): Promise<void> {
    try {
        const { text, note } = await post<{ text: string; note: string | null }>('/api/export', { call, as });
        const label = EXPORTS.find((known) => known.id === as)?.label ?? as;
        if (await copyText(text)) notify(note === null ? `copied as ${label}` : `copied as ${label}: ${note}`, 'plain');
    } catch (problem) {
        notify(words(problem));
    }
}
