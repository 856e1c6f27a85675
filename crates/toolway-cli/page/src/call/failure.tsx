// Why did a call fail, and what does the reader need to find the cause?

import type { CallSummary } from '../api/types';
import { Hint } from '../part/hint';
import { withMarks } from '../part/visible';
import { duration, timeOfDay } from '../state/clock';
import { drawerTab } from '../state/selection';
import { LinkButton } from '../part/button';

export function FailurePane({ call }: { call: CallSummary }) {
    const { error, timeout } = call;
    return (
        <div class="failure" role="alert" data-testid="call-error">
            <p>
                <code class="error-code">{error!.code}</code> {withMarks(error!.message)}
            </p>
            {error!.hint && <Hint text={error!.hint} testid="call-hint" />}
            {timeout && <TimeoutFacts timeout={timeout} />}
        </div>
    );
}

function TimeoutFacts({ timeout }: { timeout: NonNullable<CallSummary['timeout']> }) {
    return (
        <dl class="facts" data-testid="timeout-facts">
            <dt>open requests</dt>
            <dd>
                {timeout.open.length === 0
                    ? 'none'
                    : timeout.open.map((request) => (
                          <div key={request.id}>
                              <code>{request.method}</code> #{request.id}, for {duration(request.since_ms)}
                          </div>
                      ))}
            </dd>
            <dt>silent streams</dt>
            <dd>{timeout.silent_streams.length === 0 ? 'none' : timeout.silent_streams.map((stream) => `stream ${stream}`).join(', ')}</dd>
            <dt>last frame</dt>
            <dd>{timeout.last_frame_ms === null ? 'none came' : timeOfDay(timeout.last_frame_ms)}</dd>
            <dt>last lines of stderr</dt>
            <dd>
                {timeout.stderr.length === 0 ? 'none · ' : <pre class="stderr-lines">{timeout.stderr.map((line, index) => <div key={index}>{withMarks(line)}</div>)}</pre>}
                <LinkButton onClick={() => (drawerTab.value = 'stderr')}>
                    all of stderr
                </LinkButton>
            </dd>
        </dl>
    );
}
