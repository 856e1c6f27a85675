// What does `toolway doctor` find, in its own words?

import { post } from '../api/request';
import type { DoctorReport, DoctorStep, Server } from '../api/types';
import { Hint } from '../part/hint';
import { withMarks } from '../part/visible';
import { duration } from '../state/clock';
import { Loading, useAnswer } from './answer';
import { Button, Muted, Spacer, Unseen } from '../part/button';
import { Heading } from '../part/heading';

const MARKS: Record<DoctorStep['status'], string> = { ok: '✓', skipped: '–', failed: '✗' };

export function DoctorView({ server }: { server: Server }) {
    const { answer, problem, again } = useAnswer(() => post<DoctorReport>('/api/doctor', { server: server.id }), [server.id]);
    return (
        <article class="element" data-testid="doctor" data-state={answer === null ? (problem === null ? 'running' : 'failed') : answer.ok ? 'ok' : 'findings'}>
            <Heading name="Doctor" title={`toolway doctor ${server.over === 'pipe' ? '-- ' : ''}${server.target}`}>
                <Spacer />
                <Button testid="doctor-again" onClick={again}>
                    Examine again
                </Button>
            </Heading>
            {answer === null ? (
                <Loading what="the server's answers; the doctor makes its own connection" problem={problem} />
            ) : (
                <>
                    <ol class="steps">
                        {answer.steps.map((step) => (
                            <li key={step.name} class={`step step-${step.status}`} data-testid="doctor-step" data-state={step.status}>
                                <span class="step-mark" aria-hidden="true">
                                    {MARKS[step.status]}
                                </span>
                                <div>
                                    <p class="step-name">
                                        {withMarks(step.name)} <Unseen>{step.status}</Unseen>
                                        {step.ms != null && <Muted> {duration(step.ms)}</Muted>}
                                    </p>
                                    {step.detail.slice(0, 50).map((line, index) => (
                                        <p key={index} class="step-detail">
                                            {withMarks(line)}
                                        </p>
                                    ))}
                                    {step.fix && <Hint text={step.fix} testid="step-fix" />}
                                </div>
                            </li>
                        ))}
                    </ol>
                    <h2>Warnings</h2>
                    {answer.warnings.length === 0 ? (
                        <p class="tone-ok" data-testid="no-warnings">None.</p>
                    ) : (
                        <ul class="doctor-warnings" data-testid="doctor-warnings">
                            {answer.warnings.slice(0, 200).map((warning, index) => (
                                <li key={index}>
                                    <code>{withMarks(warning.about)}</code> {withMarks(warning.message)}
                                </li>
                            ))}
                        </ul>
                    )}
                </>
            )}
        </article>
    );
}
