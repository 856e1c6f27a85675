// What is drawn on the time axis, in which lane?
//
// Calls and questions are spans from request to answer, notifications are points, streams and the connection are
// spans of their own. Neighbours that would be drawn at the same place are one shape.

import type { Frame } from '../api/types';
import type { FrameLog } from '../state/frames';
import type { ConnectionChange } from '../state/news';
import type { AskedSpan } from '../state/questions';

export type LaneName = 'calls' | 'questions' | 'notifications' | 'streams' | 'connection';

export interface Span {
    from: number;
    to: number;
    label: string;
    tone: 'ok' | 'bad' | 'open' | 'plain' | 'wait';
    /** The frame to open. */
    frame: number | null;
}

export type Lanes = Record<LaneName, Span[]>;

/** All spans of a server, sorted by their beginning. `now` ends what is still open. */
export function lanesOf(log: FrameLog, changes: ConnectionChange[], asked: AskedSpan[], now: number): Lanes {
    const lanes: Lanes = { calls: [], questions: [], notifications: [], streams: [], connection: [] };
    const streams = new Map<number, Span>();
    /** A request without an answer stays open until its connection ends. */
    const lostAt = (from: number) => changes.find((change) => change.t_ms > from && change.state !== 'ready')?.t_ms ?? now;
    for (const frame of log.frames) {
        followStream(streams, lanes.streams, frame, now);
        if (frame.kind === 'request') {
            const answer = log.get(log.answerOf.get(frame.n) ?? -1);
            // In the stateless era a question is a result; only the inspector knows when it was answered.
            if (frame.dir === 'in' && asked.length > 0) continue;
            const listens = frame.method === 'subscriptions/listen';
            // Over HTTP, its stream is drawn already.
            if (listens && frame.http?.stream !== undefined) continue;
            const lane = frame.dir === 'in' ? lanes.questions : listens ? lanes.streams : lanes.calls;
            lane.push({
                from: frame.t_ms,
                to: answer?.t_ms ?? lostAt(frame.t_ms),
                label: [frame.method, frame.about].filter(Boolean).join(' '),
                tone: answer === undefined ? 'open' : answer.kind === 'error' ? 'bad' : 'ok',
                frame: frame.n,
            });
        } else if (frame.kind === 'notification') {
            lanes.notifications.push({ from: frame.t_ms, to: frame.t_ms, label: frame.method ?? 'notification', tone: 'plain', frame: frame.n });
        }
    }
    for (const { from, to, message } of asked) {
        lanes.questions.push({ from, to: to ?? now, label: message.slice(0, 80), tone: to === null ? 'open' : 'ok', frame: null });
    }
    changes.forEach((change, index) => {
        const to = changes[index + 1]?.t_ms ?? now;
        const tone = { ready: 'ok', connecting: 'wait', cut: 'bad', failed: 'bad', closed: 'bad' }[change.state] as Span['tone'];
        lanes.connection.push({ from: change.t_ms, to, label: change.state, tone, frame: null });
    });
    return lanes;
}

function followStream(open: Map<number, Span>, lane: Span[], frame: Frame, now: number): void {
    const stream = frame.http?.stream;
    if (stream === undefined) return;
    let span = open.get(stream);
    if (!span) {
        span = { from: frame.t_ms, to: now, label: `stream ${stream}`, tone: 'open', frame: frame.n };
        open.set(stream, span);
        lane.push(span);
    }
    const end = frame.http?.end;
    const answered = frame.dir === 'in' && (frame.kind === 'result' || frame.kind === 'error');
    // An answer without events has no end of its own.
    if (end || answered) {
        span.to = frame.t_ms;
        span.tone = end === 'broken' ? 'bad' : 'ok';
    }
}

/** Puts spans that overlap into rows, at most `rows`; the last row takes what is left over. */
export function pack(spans: Span[], rows: number): Span[][] {
    const packed: Span[][] = [];
    const ends: number[] = [];
    for (const span of spans) {
        let row = ends.findIndex((end) => end <= span.from);
        if (row < 0) row = Math.min(packed.length, rows - 1);
        (packed[row] ??= []).push(span);
        ends[row] = Math.max(ends[row] ?? 0, span.to);
    }
    return packed;
}

/** Joins spans that begin within `gap` of the one before and are short; a failure stays visible. */
export function merge(spans: Span[], gap: number): Span[] {
    const merged: Span[] = [];
    for (const span of spans) {
        const last = merged[merged.length - 1];
        if (last && span.from - last.from < gap && span.to - last.from < gap * 2) {
            last.to = Math.max(last.to, span.to);
            if (span.tone === 'bad') {
                last.tone = 'bad';
                last.frame = span.frame;
                last.label = span.label;
            }
        } else merged.push({ ...span });
    }
    return merged;
}
