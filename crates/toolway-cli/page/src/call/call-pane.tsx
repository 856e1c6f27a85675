// How does one call go: its state, clock, progress, questions, and in the end its result or its error?

import { useEffect, useRef } from 'preact/hooks';
import type { Call, CallSummary } from '../api/types';
import { withMarks } from '../part/visible';
import { calls, cancelCall, details, isOver, readDetails } from '../state/calls';
import { duration, nowMs, size, tick } from '../state/clock';
import { questions } from '../state/questions';
import { showFrame } from '../state/selection';
import { FailurePane } from './failure';
import { QuestionForm } from './question';
import { ResultTabs } from './result';
import { Button, LinkButton, Muted, Spacer } from '../part/button';

const STATES: Record<CallSummary['state'], string> = {
    running: 'running',
    asking: 'asks you',
    ok: 'ok',
    tool_error: 'tool error',
    failed: 'failed',
    cancelled: 'cancelled',
};

export function CallPane({ id, elementKey }: { id: number; elementKey: string }) {
    const call = calls.value.get(id);
    const whole = details.value.get(id);
    const over = call !== undefined && isOver(call);
    const box = useRef<HTMLElement>(null);
    useEffect(() => {
        if (over) void readDetails(id);
    }, [id, over]);
    useEffect(() => box.current?.scrollIntoView({ block: 'nearest' }), [id, whole]);
    if (!call) return <p class="quiet-note">The call begins …</p>;
    const open = questions.value.filter((question) => question.call === id);
    return (
        <section ref={box} class="call" aria-label={`Call ${id} of ${call.name}`} data-testid={`call-${id}`} data-state={call.state}>
            <header class="call-state" data-testid="call-state" data-state={call.state}>
                <span class={`state state-${call.state}`}>{STATES[call.state]}</span>
                <span data-testid="call-clock">{duration(elapsed(call))}</span>
                {call.asked_ms > 0 && <Muted>+ {duration(call.asked_ms)} for your answers</Muted>}
                {call.rounds > 0 && <Muted>{call.rounds === 1 ? '1 round' : `${call.rounds} rounds`}</Muted>}
                {over && call.bytes > 0 && <Muted>{size(call.bytes)}</Muted>}
                {whole && <OutputVerdict call={whole} />}
                <Spacer />
                {call.frames && (
                    <LinkButton testid="call-frames" onClick={() => showFrame(call.frames![0])}>
                        {call.frames[1] === null ? `from frame ${call.frames[0]}` : `frames ${call.frames[0]}–${call.frames[1]}`}
                    </LinkButton>
                )}
                {!over && (
                    <Button testid="cancel" title="Esc" onClick={() => void cancelCall(id)}>
                        Cancel
                    </Button>
                )}
            </header>
            {!over && call.progress && <ProgressBar progress={call.progress} />}
            {open.map((question) => (
                <QuestionForm key={question.id} question={question} keepUnder={elementKey} of={call.rounds} />
            ))}
            {call.error && <FailurePane call={call} />}
            {whole && whole.result !== null && <ResultTabs call={whole} />}
        </section>
    );
}

/** The time without questions: while one is open, the clock stands still. */
function elapsed(call: CallSummary): number {
    if (call.took_ms !== null) return call.took_ms;
    if (call.asked_since_ms === null) void tick.value;
    return Math.max(0, (call.asked_since_ms ?? nowMs()) - call.began_ms - call.asked_ms);
}

function ProgressBar({ progress }: { progress: NonNullable<CallSummary['progress']> }) {
    const { total, message } = progress;
    return (
        <div class="progress" data-testid="progress">
            <progress aria-label="Progress of the call" value={total ? progress.progress : undefined} max={total ?? undefined} />
            <span>
                {progress.progress}
                {total ? ` of ${total}` : ''}
                {message && <> · {withMarks(message)}</>}
            </span>
        </div>
    );
}

function OutputVerdict({ call }: { call: Call }) {
    const { state } = call.output;
    if (call.kind !== 'tool' || state === 'none') return null;
    return (
        <span class={state === 'fits' ? 'tone-ok' : 'tone-bad'} data-testid="output-verdict" data-state={state}>
            {state === 'fits' ? 'fits its output schema' : 'does not fit its output schema'}
        </span>
    );
}
