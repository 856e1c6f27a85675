// How is an endless answer of JSON lines read?
//
// An `EventSource` cannot send the token's header, so `fetch` reads the lines. All lines of one piece arrive together:
// a page that draws once a piece stays responsive with 10,000 frames.

import { send } from './request';

/** Calls `take` with the lines of each piece until the answer ends; throws when it cannot be read. */
export async function readLines<T>(path: string, stop: AbortSignal, take: (lines: T[]) => void): Promise<void> {
    const answer = await send(path, { signal: stop });
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        const pieces = (rest + value).split('\n');
        rest = pieces.pop() ?? '';
        const lines = pieces.filter((piece) => piece.trim() !== '').map((piece) => JSON.parse(piece) as T);
        if (lines.length > 0) take(lines);
    }
}
