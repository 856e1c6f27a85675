// What happened when, and at the same time as what?

import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Empty } from '../part/empty';
import { withMarks } from '../part/visible';
import { duration, nowMs, tick } from '../state/clock';
import { shownLog } from '../state/frames';
import { connectionChanges } from '../state/news';
import { askedSpans } from '../state/questions';
import { showFrame } from '../state/selection';
import { currentId, server } from '../state/servers';
import { lanesOf, merge, pack, type LaneName, type Span } from './lanes';
import { QuietButton } from '../part/button';

const NAMES: LaneName[] = ['calls', 'questions', 'notifications', 'streams', 'connection'];
const LABEL = 96;
const ROW = 16;
const GAP = 8;
const MOST_ROWS: Record<LaneName, number> = { calls: 5, questions: 2, notifications: 1, streams: 3, connection: 1 };

export function TimelineTab() {
    const log = shownLog.value;
    void log.version.value;
    void tick.value;
    const [width, setWidth] = useState(900);
    const box = useRef<HTMLDivElement>(null);
    /** The shown part of the time; `null` shows all of it. */
    const [view, setView] = useState<[number, number] | null>(null);
    const [marked, setMarked] = useState<number>(-1);
    useLayoutEffect(() => {
        const measure = () => box.current && setWidth(Math.max(320, box.current.clientWidth - 24));
        measure();
        const observer = new ResizeObserver(measure);
        if (box.current) observer.observe(box.current);
        return () => observer.disconnect();
    }, []);

    const changes = connectionChanges.value.filter((change) => change.server === currentId.value);
    const lastFrame = log.frames[log.frames.length - 1]?.t_ms ?? 0;
    const recorded = server.value?.over === 'recording';
    const now = recorded ? lastFrame : Math.max(lastFrame, nowMs());
    const first = Math.min(log.frames[0]?.t_ms ?? Infinity, changes[0]?.t_ms ?? Infinity);
    const isEmpty = !Number.isFinite(first);
    const whole: [number, number] = isEmpty ? [0, 1] : [first, Math.max(first + 1, lastFrame + Math.max(1, (lastFrame - first) * 0.02))];
    const [from, to] = view ?? whole;
    const scale = (width - LABEL) / (to - from);
    const place = (ms: number) => LABEL + (ms - from) * scale;

    const lanes = lanesOf(log, changes, askedSpans.value.filter((span) => span.server === currentId.value), now);
    const drawn: { lane: LaneName; top: number; height: number; shapes: { span: Span; row: number }[] }[] = [];
    let top = 22;
    for (const lane of NAMES) {
        const inView = lanes[lane].filter((span) => span.to >= from && span.from <= to);
        const rows = pack(inView, MOST_ROWS[lane]);
        const shapes = rows.flatMap((spans, row) => merge(spans, 4 / scale).map((span) => ({ span, row })));
        const height = Math.max(1, rows.length) * ROW;
        drawn.push({ lane, top, height, shapes });
        top += height + GAP;
    }
    const all = drawn.flatMap((lane) => lane.shapes.map((shape) => shape.span)).sort((a, b) => a.from - b.from);
    const markedSpan = all[marked] ?? null;

    const zoom = (factor: number, around = (from + to) / 2) => {
        const next: [number, number] = [around - (around - from) * factor, around + (to - around) * factor];
        setView(next[1] - next[0] >= whole[1] - whole[0] ? null : next);
    };
    const pan = (share: number) => setView([from + (to - from) * share, to + (to - from) * share]);
    const keys = (event: KeyboardEvent) => {
        switch (event.key) {
            case '+':
            case '=':
                zoom(0.6);
                break;
            case '-':
                zoom(1 / 0.6);
                break;
            case '0':
                setView(null);
                break;
            case 'ArrowRight':
                setMarked(Math.min(all.length - 1, marked + 1));
                break;
            case 'ArrowLeft':
                setMarked(Math.max(0, marked - 1));
                break;
            case 'Enter':
                if (markedSpan?.frame != null) showFrame(markedSpan.frame);
                break;
            default:
                return;
        }
        event.preventDefault();
        event.stopPropagation();
    };
    return (
        <div class="timeline" ref={box}>
            <div class="drawer-bar">
                <div class="button-row" role="group" aria-label="Zoom">
                    <QuietButton testid="timeline-in" onClick={() => zoom(0.5)}>Zoom in</QuietButton>
                    <QuietButton testid="timeline-out" onClick={() => zoom(2)}>Zoom out</QuietButton>
                    <QuietButton onClick={() => pan(-0.5)}>Earlier</QuietButton>
                    <QuietButton onClick={() => pan(0.5)}>Later</QuietButton>
                    <QuietButton testid="timeline-all" onClick={() => setView(null)}>All</QuietButton>
                </div>
                <span class="muted timeline-about" role="status" data-testid="timeline-about">
                    {markedSpan ? (
                        <>
                            {withMarks(markedSpan.label)} · {duration(markedSpan.from - first)} after the start
                            {markedSpan.to > markedSpan.from && ` · ${duration(markedSpan.to - markedSpan.from)}`}
                        </>
                    ) : (
                        'arrow keys walk through the events, Enter opens the frame'
                    )}
                </span>
            </div>
            {isEmpty ? (
                <Empty title="Nothing happened yet">Requests, questions, notifications and streams are drawn here as they come.</Empty>
            ) : (
                <div class="timeline-scroll">
                    <svg
                        width={width}
                        height={top}
                        tabindex={0}
                        role="application"
                        aria-label={`Timeline of ${duration(to - from)}: ${NAMES.map((lane) => `${lanes[lane].length} ${lane}`).join(', ')}. Arrow keys walk, plus and minus zoom, Enter opens the frame.`}
                        data-testid="timeline"
                        onKeyDown={keys}
                        onWheel={(event) => {
                            if (!event.ctrlKey) return;
                            event.preventDefault();
                            const { left } = event.currentTarget.getBoundingClientRect();
                            zoom(event.deltaY < 0 ? 0.8 : 1.25, from + (event.clientX - left - LABEL) / scale);
                        }}
                    >
                        <Axis from={from} to={to} start={first} place={place} height={top} />
                        {drawn.map(({ lane, top, height, shapes }) => (
                            <g key={lane} data-testid={`lane-${lane}`} data-count={lanes[lane].length}>
                                <rect class="lane" x={LABEL} y={top - 3} width={Math.max(0, width - LABEL)} height={height + 4} rx="3" />
                                <text class="lane-name" x="0" y={top + 9}>
                                    {lane}
                                </text>
                                {shapes.map(({ span, row }, index) => (
                                    <Shape key={index} span={span} isPoint={lane === 'notifications'} x={place(span.from)} end={place(span.to)} y={top + row * ROW} right={width} marked={span === markedSpan} />
                                ))}
                            </g>
                        ))}
                    </svg>
                </div>
            )}
        </div>
    );
}

interface ShapeProps {
    span: Span;
    isPoint: boolean;
    x: number;
    end: number;
    y: number;
    right: number;
    marked: boolean;
}

function Shape({ span, isPoint, x, end, y, right, marked }: ShapeProps) {
    const open = () => span.frame !== null && showFrame(span.frame);
    const name = `span span-${span.tone} ${marked ? 'marked' : ''}`;
    const left = Math.max(LABEL, x);
    const width = Math.max(3, Math.min(right, end) - left);
    if (isPoint) return <circle class={name} cx={x} cy={y + 5} r="3.5" onClick={open}><title>{span.label}</title></circle>;
    return (
        <g onClick={open} class={name}>
            <rect x={left} y={y} width={width} height="11" rx="2">
                <title>{`${span.label} · ${duration(span.to - span.from)}`}</title>
            </rect>
            {width > span.label.length * 6.2 + 8 && (
                <text x={left + 4} y={y + 9}>
                    {span.label}
                </text>
            )}
        </g>
    );
}

/** Lines at round times, at most about ten. */
function Axis({ from, to, start, place, height }: { from: number; to: number; start: number; place: (ms: number) => number; height: number }) {
    const rough = (to - from) / 8;
    const unit = 10 ** Math.floor(Math.log10(rough));
    const step = unit * ([1, 2, 5, 10].find((factor) => unit * factor >= rough) ?? 10);
    const lines: number[] = [];
    for (let at = Math.ceil((from - start) / step) * step; at <= to - start && lines.length < 40; at += step) lines.push(at);
    return (
        <g>
            {lines.map((at) => (
                <g key={at}>
                    <line class="grid-line" x1={place(at + start)} x2={place(at + start)} y1="14" y2={height} />
                    <text class="axis-text" x={place(at + start) + 2} y="10">
                        {step >= 1000 ? `${(at / 1000).toFixed(step % 1000 === 0 ? 0 : 1)} s` : step >= 1 ? `${Math.round(at)} ms` : `${at.toFixed(2)} ms`}
                    </text>
                </g>
            ))}
        </g>
    );
}
