// What time is it for the server, and how is a time written?
//
// All times of the API count milliseconds from the inspector's start. The first state tells how far the page's clock
// is from that.

import { signal } from '@preact/signals';

let offset: number | null = null;
let epoch = Date.now();

/** Moves while a call runs, so that its clock is drawn again. */
export const tick = signal(0);

/** Takes the server's time once: a later state would move every time that is on the page already. */
export function setClock(nowMs: number): void {
    if (offset !== null) return;
    offset = nowMs - performance.now();
    epoch = Date.now() - nowMs;
}

export function nowMs(): number {
    return performance.now() + (offset ?? 0);
}

let timer: ReturnType<typeof setInterval> | null = null;

/** Lets `tick` move as long as `wanted`. */
export function keepTicking(wanted: boolean): void {
    if (wanted && timer === null) {
        timer = setInterval(() => {
            tick.value += 1;
        }, 200);
    } else if (!wanted && timer !== null) {
        clearInterval(timer);
        timer = null;
    }
}

/** The time of day, to the millisecond. */
export function timeOfDay(ms: number): string {
    const date = new Date(epoch + ms);
    const two = (number: number) => String(number).padStart(2, '0');
    const thousandths = String(date.getMilliseconds()).padStart(3, '0');
    return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${thousandths}`;
}

/** The time since the beginning of a recording. */
export function sinceStart(ms: number): string {
    return `+${(ms / 1000).toFixed(3)}`;
}

export function duration(ms: number): string {
    if (ms < 1) return '<1 ms';
    if (ms < 10) return `${ms.toFixed(1)} ms`;
    if (ms < 1000) return `${Math.round(ms)} ms`;
    if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
    return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

export function size(bytes: number): string {
    if (bytes < 1024) return `${bytes} B`;
    if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(bytes < 10_240 ? 1 : 0)} KiB`;
    return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** A number with thin spaces between the thousands. */
export function count(number: number): string {
    return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, '\u2009');
}
