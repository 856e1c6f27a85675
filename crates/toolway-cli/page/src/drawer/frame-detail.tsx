// What does one frame hold: its JSON or its bytes, its HTTP head, and the frame that it belongs to?

import { useEffect, useState } from 'preact/hooks';
import { get, words } from '../api/request';
import type { Frame } from '../api/types';
import { Code } from '../part/code';
import { withMarks } from '../part/visible';
import { duration, size } from '../state/clock';
import { shownLog } from '../state/frames';
import { notify } from '../state/notices';
import { openFrame } from '../state/selection';
import { currentId, timeOf } from '../state/servers';
import { LinkButton, Muted, QuietButton, Spacer } from '../part/button';

export function FrameDetail({ number }: { number: number }) {
    const log = shownLog.value;
    const listed = log.get(number);
    const [whole, setWhole] = useState<Frame | null>(null);
    const [head, setHead] = useState(true);
    useEffect(() => setWhole(null), [number]);
    const frame = whole?.n === number ? whole : listed;
    if (!frame) return <div class="frame-detail muted">This frame is no longer kept.</div>;
    const partner = frame.answers ?? log.answerOf.get(number) ?? null;
    const readWhole = async () => {
        try {
            setWhole(await get<Frame>(`/api/frame?server=${currentId.value}&n=${number}`));
        } catch (problem) {
            notify(words(problem));
        }
    };
    return (
        <div class="frame-detail" data-testid="frame-detail" data-frame={number}>
            <div class="frame-detail-bar">
                <strong>frame {number}</strong>
                <Muted>
                    {timeOf(frame.t_ms)}, {size(frame.bytes)}
                    {frame.took_ms !== null && `, answered after ${duration(frame.took_ms)}`}
                </Muted>
                {partner !== null && log.get(partner) && (
                    <LinkButton testid="frame-partner" onClick={() => (openFrame.value = partner)}>
                        {frame.answers === null ? 'its answer' : 'its request'}
                    </LinkButton>
                )}
                <Spacer />
                {frame.http && (
                    <QuietButton aria-pressed={head} testid="frame-head-toggle" onClick={() => setHead(!head)}>
                        head
                    </QuietButton>
                )}
                <QuietButton aria-label="Close the frame" testid="close-frame" onClick={() => (openFrame.value = null)}>
                    ×
                </QuietButton>
            </div>
            {frame.http && head && <Head http={frame.http} />}
            {frame.folded && whole === null && (
                <p class="code-note">
                    Only the beginning of {size(frame.bytes)} is here.{' '}
                    <LinkButton testid="whole-frame" onClick={() => void readWhole()}>
                        Read the whole frame
                    </LinkButton>
                </p>
            )}
            {frame.frame !== undefined && <Code text={frame.frame} label={`frame ${number}`} testid="frame-json" fill />}
            {frame.raw !== undefined && <Code text={frame.raw} label={`frame ${number}`} plain testid="frame-raw" fill />}
        </div>
    );
}

/** The HTTP head. The server has already removed what is secret; what it left is shown. */
function Head({ http }: { http: NonNullable<Frame['http']> }) {
    const [shown, setShown] = useState<ReadonlySet<string>>(new Set());
    return (
        <div class="http-head" data-testid="http-head">
            <p class="mono">
                {http.method && withMarks(`${http.method} ${http.path ?? ''}`)}
                {http.status !== undefined && <strong> {http.status}</strong>}
                {http.stream !== undefined && <Muted> stream {http.stream}</Muted>}
                {http.event && <Muted> event {withMarks(http.event)}</Muted>}
                {http.end && <Muted> {http.end}</Muted>}
            </p>
            {http.headers && Object.keys(http.headers).length > 0 && (
                <dl class="headers">
                    {Object.entries(http.headers).map(([name, value]) => (
                        <div key={name}>
                            <dt>{withMarks(name)}</dt>
                            <dd>
                                {isDelicate(name) && !shown.has(name) ? (
                                    <LinkButton aria-label={`Show ${name}`} onClick={() => setShown(new Set(shown).add(name))}>
                                        ••••••
                                    </LinkButton>
                                ) : (
                                    withMarks(value)
                                )}
                            </dd>
                        </div>
                    ))}
                </dl>
            )}
        </div>
    );
}

/** Headers that grant access are covered until they are pressed: a screen is often shared. */
function isDelicate(name: string): boolean {
    return /^(authorization|cookie|set-cookie|proxy-authorization|mcp-session-id)$|token|secret|api-?key/i.test(name);
}
