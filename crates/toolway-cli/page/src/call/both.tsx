// Does a tool say the same in both eras of the protocol?
//
// Two columns show what went over the wire; the server compares the results and matches the rounds.

import { useEffect, useRef } from 'preact/hooks';
import type { Both, BothSide } from '../api/types';
import { calls, comparisons } from '../state/calls';
import { duration } from '../state/clock';
import { questions } from '../state/questions';
import { Hint } from '../part/hint';
import { withMarks } from '../part/visible';
import { Differences } from './differences';
import { QuestionForm } from './question';
import { Muted } from '../part/button';

export function BothPane({ id }: { id: number }) {
    const both = comparisons.value.get(id);
    const box = useRef<HTMLElement>(null);
    const asking = both?.sides.some((side) => questions.value.some((question) => question.call === side.call));
    const ended = both?.verdict != null;
    useEffect(() => box.current?.scrollIntoView({ block: 'nearest' }), [id, asking, ended]);
    if (!both) return <p class="quiet-note">The comparison begins …</p>;
    const verdict = both.verdict;
    const state = verdict !== null ? (verdict.equal ? 'equal' : 'different') : both.error ? 'failed' : both.state;
    return (
        <section ref={box} class="both" aria-label="The call on both eras" data-testid={`both-${id}`} data-state={state}>
            <header class="call-state" data-testid="both-verdict" data-state={state}>
                <span class={`state state-${state === 'equal' ? 'ok' : state === 'running' ? 'running' : 'failed'}`}>{state === 'running' ? 'running on both' : state}</span>
                {verdict?.parts.map((part) => (
                    <span key={part.name} class={part.equal ? 'tone-ok' : 'tone-bad'} data-testid={`both-part-${part.name}`} data-state={part.equal ? 'equal' : 'different'}>
                        {part.name} {part.equal ? '=' : '≠'}
                    </span>
                ))}
            </header>
            {both.error && (
                <div class="failure" role="alert" data-testid="both-error">
                    <p>
                        <code class="error-code">{both.error.code}</code> {withMarks(both.error.message)}
                    </p>
                    {both.error.hint && <Hint text={both.error.hint} testid="both-hint" />}
                </div>
            )}
            <div class="both-sides">
                {both.sides.map((side) => (
                    <Side key={side.revision} side={side} />
                ))}
            </div>
            {verdict && verdict.rounds.length > 0 && <Rounds both={both} />}
            {verdict?.parts
                .filter((part) => !part.equal)
                .map((part) => (
                    <div key={part.name} class="both-differences">
                        <h2>{part.name}</h2>
                        <Differences differences={part.differences} left={both.sides[0]?.revision ?? 'left'} right={both.sides[1]?.revision ?? 'right'} />
                    </div>
                ))}
        </section>
    );
}

function Side({ side }: { side: BothSide }) {
    const call = calls.value.get(side.call);
    const open = questions.value.filter((question) => question.call === side.call);
    return (
        <div class="both-side" data-testid={`both-side-${side.era}`} data-state={call?.state ?? 'running'}>
            <h2>
                {side.revision} <Muted>{side.era}</Muted>
                {call?.took_ms != null && <span class="muted both-took">{duration(call.took_ms)}</span>}
            </h2>
            <ol class="both-frames">
                {side.frames
                    .filter((frame) => frame.kind !== 'none')
                    .slice(0, 100)
                    .map((frame) => (
                        <li key={frame.n}>
                            <span class={`direction direction-${frame.dir}`}>{frame.dir === 'out' ? '→' : '←'}</span>
                            <code>{withMarks(frame.kind === 'result' || frame.kind === 'error' ? frame.kind : (frame.method ?? frame.kind))}</code>
                            <Muted> {frame.took_ms === null ? '' : duration(frame.took_ms)}</Muted>
                        </li>
                    ))}
            </ol>
            {call?.error && <p class="tone-bad">{withMarks(call.error.message)}</p>}
            {open.map((question) => (
                <QuestionForm key={question.id} question={question} keepUnder={null} />
            ))}
        </div>
    );
}

function Rounds({ both }: { both: Both }) {
    return (
        <table class="rounds" data-testid="both-rounds">
            <thead>
                <tr>
                    <th scope="col">round</th>
                    {both.sides.map((side) => (
                        <th scope="col" key={side.revision}>
                            {side.revision}
                        </th>
                    ))}
                </tr>
            </thead>
            <tbody>
                {both.verdict!.rounds.map((round, index) => (
                    <tr key={index}>
                        <th scope="row">{index + 1}</th>
                        <td>
                            <code>{round.left.join(', ')}</code>
                        </td>
                        <td>
                            <code>{round.right.join(', ')}</code>
                        </td>
                    </tr>
                ))}
            </tbody>
        </table>
    );
}
