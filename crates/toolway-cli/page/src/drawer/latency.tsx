// How long do answers take, for each tool and method?

import { computed, signal } from '@preact/signals';
import { Empty } from '../part/empty';
import { withMarks } from '../part/visible';
import { count, duration } from '../state/clock';
import { shownLog } from '../state/frames';
import { drawerTab } from '../state/selection';
import { filterText } from './frames';
import { LinkButton, Muted } from '../part/button';
import { TableHead } from '../part/table';

interface Group {
    method: string;
    about: string | null;
    /** Sorted, in milliseconds. */
    times: number[];
}

const groups = computed<Group[]>(() => {
    const log = shownLog.value;
    void log.version.value;
    const found = new Map<string, Group>();
    for (const frame of log.frames) {
        if (frame.took_ms === null) continue;
        const request = log.requestOf(frame);
        if (request.method === null) continue;
        const key = `${request.method} ${request.about ?? ''}`;
        const group = found.get(key) ?? { method: request.method, about: request.about, times: [] };
        group.times.push(frame.took_ms);
        found.set(key, group);
    }
    for (const group of found.values()) group.times.sort((a, b) => a - b);
    return [...found.values()].sort((a, b) => b.times.length - a.times.length);
});

const MOST = 24;
const chosen = signal<string | null>(null);

/** The smallest time that at least `share` of the answers stay within. */
export function percentile(sorted: number[], share: number): number {
    return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

export function LatencyTab() {
    const all = groups.value;
    if (all.length === 0) return <Empty title="No answers yet">Each answer's time counts here; run a tool a few times.</Empty>;
    const key = (group: Group) => `${group.method} ${group.about ?? ''}`;
    const shown = all.find((group) => key(group) === chosen.value) ?? all.find((group) => group.method === 'tools/call') ?? all[0]!;
    return (
        <div class="latency" data-testid="latency">
            <div class="latency-list" tabIndex={0} role="region" aria-label="Times of answers">
                <table>
                    <TableHead columns={['what', 'n:', 'p50:', 'p95:', 'p99:', 'slowest:']} />
                    <tbody>
                        {all.slice(0, MOST).map((group) => (
                            <tr key={key(group)} class={group === shown ? 'selected' : ''} data-testid={`latency-${group.about ?? group.method}`}>
                                <th scope="row">
                                    <LinkButton aria-pressed={group === shown} onClick={() => (chosen.value = key(group))}>
                                        {withMarks(group.about ?? group.method)}
                                    </LinkButton>
                                    {group.about !== null && <Muted> {group.method}</Muted>}
                                </th>
                                <td class="number">{count(group.times.length)}</td>
                                <td class="number">{duration(percentile(group.times, 0.5))}</td>
                                <td class="number">{duration(percentile(group.times, 0.95))}</td>
                                <td class="number">{duration(percentile(group.times, 0.99))}</td>
                                <td class="number">{duration(group.times[group.times.length - 1]!)}</td>
                            </tr>
                        ))}
                    </tbody>
                </table>
                {all.length > MOST && <p class="muted">{all.length - MOST} more, with fewer answers</p>}
            </div>
            <Histogram group={shown} />
        </div>
    );
}

const WIDTH = 420;
const HEIGHT = 150;
const BARS = 24;

/** Bars of equal width on a logarithmic axis: answers of 1 ms and of 1 s are both to be seen. */
function Histogram({ group }: { group: Group }) {
    const { times } = group;
    const low = Math.log10(Math.max(0.05, times[0]!) * 0.8);
    const high = Math.log10(Math.max(0.1, times[times.length - 1]!) * 1.25);
    const place = (ms: number) => ((Math.log10(Math.max(0.05, ms)) - low) / (high - low)) * WIDTH;
    const counts = new Array<number>(BARS).fill(0);
    for (const time of times) counts[Math.min(BARS - 1, Math.max(0, Math.floor((place(time) / WIDTH) * BARS)))]! += 1;
    const most = Math.max(...counts);
    const marks = ([['p50', 0.5], ['p95', 0.95], ['p99', 0.99]] as const).map(([label, share]) => ({ label, ms: percentile(times, share) }));
    // Marks at nearly the same place share one label.
    const labels: { x: number; text: string }[] = [];
    for (const { label, ms } of marks) {
        const x = Math.min(WIDTH - 30, Math.max(0, place(ms) - 10));
        const last = labels[labels.length - 1];
        if (last && x - last.x < 30) last.text += ` ${label}`;
        else labels.push({ x, text: label });
    }
    const name = group.about ?? group.method;
    return (
        <figure class="histogram">
            <figcaption>
                <strong>{withMarks(name)}</strong>{' '}
                <LinkButton
                    onClick={() => {
                        filterText.value = group.about === null ? `method:${group.method}` : `tool:${group.about}`;
                        drawerTab.value = 'frames';
                    }}
                >
                    its frames
                </LinkButton>
            </figcaption>
            <svg viewBox={`0 -16 ${WIDTH} ${HEIGHT + 34}`} role="img" aria-label={`Histogram of ${name}: ${marks.map((mark) => `${mark.label} ${duration(mark.ms)}`).join(', ')}`} data-testid="histogram">
                {counts.map((number, index) =>
                    number === 0 ? null : (
                        <rect key={index} class="bar" x={(index * WIDTH) / BARS + 1} y={HEIGHT - (number / most) * HEIGHT} width={WIDTH / BARS - 2} height={(number / most) * HEIGHT} rx="1.5">
                            <title>{`${number} answers`}</title>
                        </rect>
                    ),
                )}
                <line class="axis" x1="0" x2={WIDTH} y1={HEIGHT} y2={HEIGHT} />
                {marks.map((mark) => (
                    <line key={mark.label} class="percentile" x1={place(mark.ms)} x2={place(mark.ms)} y1="-2" y2={HEIGHT} />
                ))}
                {labels.map((label) => (
                    <text key={label.text} class="axis-text" x={Math.min(label.x, WIDTH - label.text.length * 6.7)} y="-5">
                        {label.text}
                    </text>
                ))}
                <text class="axis-text" x="0" y={HEIGHT + 14}>
                    {duration(times[0]!)}
                </text>
                <text class="axis-text" x={WIDTH} y={HEIGHT + 14} text-anchor="end">
                    {duration(times[times.length - 1]!)}
                </text>
            </svg>
        </figure>
    );
}
