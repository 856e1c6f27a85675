// Which frames went by, and where are they kept?
//
// Each server has a log, filled by one endless answer while that server is shown. The array changes in place and
// `version` counts the changes: copying 10,000 entries for each piece would be slower than drawing them.

import { computed, effect, signal } from '@preact/signals';
import { readLines } from '../api/lines';
import type { Frame } from '../api/types';
import { page } from './page';
import { currentId } from './servers';

const KEPT = 10_000;

export class FrameLog {
    readonly frames: Frame[] = [];
    readonly version = signal(0);
    private readonly byNumber = new Map<number, Frame>();
    /** Numbers of requests, by the number of the frame that answers them, and the other way round. */
    readonly answerOf = new Map<number, number>();
    last = 0;

    add(frames: Frame[]): void {
        for (const frame of frames) {
            if (frame.n <= this.last) continue;
            this.last = frame.n;
            this.frames.push(frame);
            this.byNumber.set(frame.n, frame);
            if (frame.answers !== null) this.answerOf.set(frame.answers, frame.n);
        }
        const surplus = this.frames.length - KEPT;
        if (surplus > 0) {
            for (const gone of this.frames.splice(0, surplus)) this.byNumber.delete(gone.n);
        }
        this.version.value += 1;
    }

    get(number: number): Frame | undefined {
        return this.byNumber.get(number);
    }

    /** The request that `frame` answers, or the frame itself. */
    requestOf(frame: Frame): Frame {
        return (frame.answers !== null && this.byNumber.get(frame.answers)) || frame;
    }
}

const logs = signal(new Map<number, FrameLog>());

export function frameLog(server: number): FrameLog {
    let log = logs.peek().get(server);
    if (!log) {
        log = new FrameLog();
        logs.peek().set(server, log);
    }
    return log;
}

/** The log of the shown server; a reader is told of every new piece. */
export const shownLog = computed(() => frameLog(currentId.value));

/** Follows the frames of the shown server for as long as the page is in use. */
export function followFrames(): void {
    effect(() => {
        if (page.value.state !== 'ready') return undefined;
        const id = currentId.value;
        const stop = new AbortController();
        void follow(id, stop.signal);
        return () => stop.abort();
    });
}

async function follow(id: number, stop: AbortSignal): Promise<void> {
    const log = frameLog(id);
    while (!stop.aborted && page.peek().state === 'ready') {
        try {
            await readLines<Frame>(`/api/frames?server=${id}&after=${log.last}`, stop, (frames) => log.add(frames));
        } catch {
            // The stream of events tells why; this one only continues where it stopped.
        }
        await new Promise((resolve) => setTimeout(resolve, 500));
    }
}
