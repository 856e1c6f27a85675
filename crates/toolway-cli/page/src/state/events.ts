// What does the page do with each event of the inspector?
//
// At the beginning all events are read that the server still keeps: questions that wait, the log, and what was told.
// Events that the state already contains change nothing else.

import { batch } from '@preact/signals';
import { readLines } from '../api/lines';
import { words } from '../api/request';
import type { InspectorEvent } from '../api/types';
import { comparisons, readBoth, readCalls, takeSummary } from './calls';
import { duration } from './clock';
import { addConnectionChange, addLog, addNews, type LogLine, type News } from './news';
import { notify, notifyOfCatalog } from './notices';
import { end, page } from './page';
import { addQuestion, endAsked, removeQuestion } from './questions';
import { patchServer, readState, servers } from './servers';

let last = 0;
let known = 0;
const stop = new AbortController();

/** Reads the state, then follows the events for as long as the inspector lives. */
export async function start(): Promise<void> {
    known = await readState();
    await Promise.all(servers.value.map((server) => readCalls(server.id)));
    page.value = { state: 'ready' };
    void follow();
}

async function follow(): Promise<void> {
    let failures = 0;
    while (page.peek().state === 'ready') {
        try {
            await readLines<InspectorEvent>(`/api/events?after=${last}`, stop.signal, (events) => {
                failures = 0;
                batch(() => take(events));
            });
        } catch {
            failures += 1;
            if (failures >= 3) end('gone', '');
        }
        await new Promise((resolve) => setTimeout(resolve, 400));
    }
}

function take(events: InspectorEvent[]): void {
    const lines: LogLine[] = [];
    const items: News[] = [];
    let refresh = false;
    for (const event of events) {
        const n = event.n ?? last;
        if (event.n !== undefined) last = event.n;
        const isNew = n > known;
        const { t_ms } = event;
        switch (event.type) {
            case 'connection':
                addConnectionChange({ t_ms, server: event.server, state: event.connection.state });
                items.push({ n, t_ms, server: event.server, kind: 'connection', text: connectionText(event) });
                if (isNew) {
                    const { connection, revision, era, info } = event;
                    patchServer(event.server, { connection, revision, era, info });
                    refresh ||= connection.state === 'ready' || !servers.value.some((server) => server.id === event.server);
                }
                break;
            case 'catalog':
                refresh ||= isNew;
                if (Object.values(event.diff).every(({ added, removed, changed }) => added.length + removed.length + changed.length === 0)) break;
                items.push({ n, t_ms, server: event.server, kind: 'catalog', text: 'the lists changed', diff: event.diff });
                if (isNew) notifyOfCatalog(event.server, event.diff);
                break;
            case 'call':
                takeSummary(event.call);
                break;
            case 'question':
                addQuestion(event.question);
                break;
            case 'answered':
                endAsked(event.question, t_ms);
                removeQuestion(event.question);
                break;
            case 'log':
                lines.push({ n, t_ms, server: event.server, level: event.level, logger: event.logger, data: event.data });
                break;
            case 'notification':
                items.push({ n, t_ms, server: event.server, kind: 'notification', text: event.what });
                break;
            case 'note':
                items.push({ n, t_ms, server: event.server, kind: 'note', text: event.text });
                if (isNew) notify(event.text, 'plain', event.server);
                break;
            case 'both':
                if (comparisons.value.has(event.id) || isNew) void readBoth(event.id);
                break;
            case 'gap':
                items.push({ n, t_ms, server: null, kind: 'gap', text: `events ${event.from} to ${event.to} are no longer kept` });
                break;
            case 'doctor':
                break;
        }
    }
    addLog(lines);
    addNews(items);
    if (refresh) void readState().catch((problem) => notify(words(problem)));
}

function connectionText(event: Extract<InspectorEvent, { type: 'connection' }>): string {
    const { state, took_ms, error } = event.connection;
    if (state === 'ready') {
        return `connected${event.revision ? `, revision ${event.revision}` : ''}${took_ms === null ? '' : `, after ${duration(took_ms)}`}`;
    }
    return error ? `${state}: ${error.message}` : state;
}
