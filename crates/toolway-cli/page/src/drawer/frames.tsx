// Which frames went by, in which order, and which of them answers which?

import { computed, signal } from '@preact/signals';
import type { Frame } from '../api/types';
import { Empty } from '../part/empty';
import { withMarks } from '../part/visible';
import { Windowed } from '../part/window';
import { count, duration, size } from '../state/clock';
import { shownLog } from '../state/frames';
import { openFrame } from '../state/selection';
import { timeOf } from '../state/servers';
import { frameFilter } from './filter';
import { FrameDetail } from './frame-detail';
import { Button, Unseen } from '../part/button';

const ROW_HEIGHT = 24;

export const filterText = signal('');

export const shownFrames = computed<Frame[]>(() => {
    const log = shownLog.value;
    void log.version.value;
    const text = filterText.value.trim();
    if (text === '') return log.frames.slice();
    const fits = frameFilter(text);
    return log.frames.filter((frame) => fits(frame, log));
});

export function FramesTab() {
    const frames = shownFrames.value;
    const total = shownLog.value.frames.length;
    const opened = openFrame.value;
    const marked = opened === null ? -1 : frames.findIndex((frame) => frame.n === opened);
    const move = (event: KeyboardEvent) => {
        const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -frames.length, End: frames.length }[event.key];
        if (event.key === 'Escape' && opened !== null) {
            openFrame.value = null;
            event.preventDefault();
        }
        if (step === undefined || frames.length === 0) return;
        event.preventDefault();
        const from = marked >= 0 ? marked : step > 0 ? -1 : frames.length;
        const next = Math.max(0, Math.min(frames.length - 1, from + step));
        openFrame.value = frames[next]!.n;
    };
    return (
        <div class="frames">
            <div class="drawer-bar">
                <label class="inline-field grow">
                    filter
                    <input
                        type="text"
                        class="mono"
                        placeholder="tool:save >100ms status:error"
                        spellcheck={false}
                        autocomplete="off"
                        data-testid="frame-filter"
                        value={filterText.value}
                        onInput={(event) => (filterText.value = event.currentTarget.value)}
                    />
                </label>
                <span class="muted" role="status" data-testid="frame-count">
                    {frames.length === total ? `${count(total)} frames` : `${count(frames.length)} of ${count(total)} frames`}
                </span>
            </div>
            {frames.length === 0 ? (
                <NoFrames filtered={total > 0} />
            ) : (
                <div class={opened === null ? 'frame-panes' : 'frame-panes with-detail'}>
                    <Windowed
                        class="frame-table"
                        role="grid"
                        aria-label="Frames"
                        aria-rowcount={frames.length}
                        aria-activedescendant={marked >= 0 ? `frame-${opened}` : undefined}
                        tabIndex={0}
                        data-testid="frames"
                        onKeyDown={move}
                        count={frames.length}
                        rowHeight={ROW_HEIGHT}
                        reveal={marked >= 0 ? marked : null}
                        stick={opened === null}
                        row={(index) => <FrameRow key={frames[index]!.n} frame={frames[index]!} index={index} opened={opened} />}
                    />
                    {opened !== null && <FrameDetail number={opened} />}
                </div>
            )}
        </div>
    );
}

function NoFrames({ filtered }: { filtered: boolean }) {
    if (!filtered) return <Empty title="No frames yet">Frames appear as soon as the connection begins.</Empty>;
    return (
        <Empty title="No frame fits the filter" testid="frames-none-fit">
            <Button onClick={() => (filterText.value = '')}>
                Show all frames
            </Button>
        </Empty>
    );
}

function FrameRow({ frame, index, opened }: { frame: Frame; index: number; opened: number | null }) {
    const log = shownLog.value;
    const isOpen = frame.n === opened;
    const partner = opened !== null && (frame.answers === opened || log.answerOf.get(frame.n) === opened);
    const request = log.requestOf(frame);
    return (
        <div
            id={`frame-${frame.n}`}
            role="row"
            aria-rowindex={index + 1}
            aria-selected={isOpen}
            class={`frame-row ${isOpen ? 'selected' : ''} ${partner ? 'partner' : ''} ${failed(frame) ? 'bad' : ''}`}
            data-testid={`frame-${frame.n}`}
            data-kind={frame.kind}
            onClick={() => (openFrame.value = isOpen ? null : frame.n)}
        >
            <span role="gridcell" class="frame-time">
                {timeOf(frame.t_ms)}
            </span>
            <span role="gridcell" class={`direction direction-${frame.dir}`}>
                <span aria-hidden="true">{{ out: '→', in: '←', err: '!' }[frame.dir]}</span>
                <Unseen>{{ out: 'sent', in: 'received', err: 'stderr' }[frame.dir]}</Unseen>
            </span>
            <span role="gridcell" class="frame-method">
                {withMarks(whatOf(frame))}
            </span>
            <span role="gridcell" class="frame-about">
                {withMarks(short(aboutOf(frame, request)))}
            </span>
            <span role="gridcell" class="frame-id">
                {frame.id !== null && `#${frame.id}`}
            </span>
            <span role="gridcell" class="number">
                {size(frame.bytes)}
            </span>
            <span role="gridcell" class="number">
                {frame.took_ms !== null && duration(frame.took_ms)}
            </span>
        </div>
    );
}

function failed(frame: Frame): boolean {
    return frame.kind === 'error' || (frame.http?.status ?? 0) >= 400 || frame.http?.end === 'broken';
}

function whatOf(frame: Frame): string {
    if (frame.dir === 'err') return 'stderr';
    if (frame.kind === 'result' || frame.kind === 'error') return frame.kind;
    if (frame.method !== null) return frame.method;
    if (frame.kind !== 'none') return frame.kind;
    const { http } = frame;
    if (http?.end) return `stream ${http.end}`;
    if (http?.status) return `HTTP ${http.status}`;
    if (http?.method) return `${http.method} ${http.path ?? ''}`;
    return frame.raw === undefined ? 'head' : 'not JSON';
}

function aboutOf(frame: Frame, request: Frame): string {
    if (frame.kind === 'none' && frame.raw !== undefined) return frame.raw;
    const isAnswer = frame.kind === 'result' || frame.kind === 'error';
    const parts = [request.about ?? (isAnswer ? (request.method ?? frame.method ?? '') : '')];
    if (frame.http?.status && frame.kind !== 'none') parts.push(`HTTP ${frame.http.status}`);
    if (frame.http?.stream !== undefined) parts.push(`stream ${frame.http.stream}`);
    if (frame.http?.event) parts.push(`event ${frame.http.event}`);
    return parts.filter(Boolean).join(' · ');
}

function short(text: string): string {
    return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
