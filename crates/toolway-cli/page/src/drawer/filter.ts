// Which frames does a filter let through?
//
// Words must occur in the frame's method, subject or text; `tool:save`, `method:`, `id:`, `dir:in`, `status:error`,
// `kind:notification`, `stream:3` look at one part, `>100ms` at the time that an answer took. A minus in front turns a
// word round.

import type { Frame } from '../api/types';
import type { FrameLog } from '../state/frames';

type Test = (frame: Frame, log: FrameLog) => boolean;

export function frameFilter(text: string): Test {
    const tests = text.toLowerCase().split(/\s+/).filter(Boolean).map(testOf);
    return (frame, log) => tests.every((test) => test(frame, log));
}

function testOf(word: string): Test {
    if (word.length > 1 && word.startsWith('-')) {
        const test = testOf(word.slice(1));
        return (frame, log) => !test(frame, log);
    }
    const time = /^([<>])(\d+(?:\.\d+)?)(ms|s)?$/.exec(word);
    if (time) {
        const limit = Number(time[2]) * (time[3] === 's' ? 1000 : 1);
        return ({ took_ms: took }) => took !== null && (time[1] === '>' ? took > limit : took < limit);
    }
    const part = /^(\w+):(.*)$/.exec(word);
    const test = part && Object.hasOwn(PARTS, part[1]!) && PARTS[part[1]!];
    if (test) return test(part[2]!);
    return (frame, log) => {
        const request = log.requestOf(frame);
        return [request.method, request.about, frame.kind, frame.frame, frame.raw, frame.http?.path].some((text) => text?.toLowerCase().includes(word));
    };
}

const PARTS: Record<string, (value: string) => Test> = {
    tool: (value) => (frame, log) => (log.requestOf(frame).about ?? '').toLowerCase().includes(value),
    method: (value) => (frame, log) => (log.requestOf(frame).method ?? '').toLowerCase().includes(value),
    id: (value) => (frame) => frame.id === value,
    dir: (value) => (frame) => frame.dir === value,
    kind: (value) => (frame) => frame.kind === value,
    stream: (value) => (frame) => String(frame.http?.stream ?? '') === value,
    status: (value) => (frame) => {
        const failed = frame.kind === 'error' || (frame.http?.status ?? 0) >= 400 || (frame.frame ?? '').includes('"isError":true');
        if (value === 'error') return failed;
        if (value === 'ok') return frame.kind === 'result' && !failed;
        return String(frame.http?.status ?? '') === value;
    },
};
