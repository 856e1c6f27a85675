// What does a server say about itself, and how is the connection to it?

import type { Server } from '../api/types';
import { Code } from '../part/code';
import { Hint } from '../part/hint';
import { Link } from '../part/link';
import { Paragraph, withMarks } from '../part/visible';
import { count, duration } from '../state/clock';
import { tokenCount } from '../state/servers';
import { select } from '../state/selection';
import { Button, Muted } from '../part/button';
import { Heading } from '../part/heading';
import { HiddenWarning } from './element-pane';

export function ServerView({ server }: { server: Server }) {
    const { connection, info } = server;
    return (
        <article class="element" data-testid="server">
            <Heading name={info?.title || info?.name || server.name} title={info?.version} />
            {connection.error && <ConnectionFailure server={server} />}
            {connection.state === 'connecting' && <p class="quiet-note" role="status">Connecting to {server.target} …</p>}
            <dl class="facts">
                <dt>target</dt>
                <dd>
                    <code>{withMarks(server.target)}</code>
                </dd>
                <dt>transport</dt>
                <dd>{TRANSPORTS[server.over]}</dd>
                {server.revision && (
                    <>
                        <dt>revision</dt>
                        <dd>
                            {server.revision} {server.era && <Muted>{server.era} era</Muted>}
                        </dd>
                    </>
                )}
                {connection.took_ms !== null && (
                    <>
                        <dt>connected in</dt>
                        <dd>{duration(connection.took_ms)}</dd>
                    </>
                )}
                {info?.websiteUrl && (
                    <>
                        <dt>website</dt>
                        <dd>
                            <Link address={info.websiteUrl} testid="website" />
                        </dd>
                    </>
                )}
                <dt>offers</dt>
                <dd>
                    {plural(server.tools.length, 'tool')}, {plural(server.resources.length, 'resource')}, {plural(server.templates.length, 'template')},{' '}
                    {plural(server.prompts.length, 'prompt')}
                </dd>
                {server.tools.length > 0 && (
                    <>
                        <dt>cost</dt>
                        <dd>
                            {Object.entries(server.tokens).map(([provider, tokens]) => (
                                <span key={provider} class="cost">
                                    {provider} ~{count(tokens)}
                                </span>
                            ))}
                            <Muted>tokens in each request to a model, about {count(tokenCount(server.tokens) / Math.max(1, server.tools.length))} a tool</Muted>
                        </dd>
                    </>
                )}
            </dl>
            {Object.entries(server.lists)
                .filter(([, problem]) => problem !== null)
                .map(([list, problem]) => (
                    <p key={list} class="failure" data-testid={`list-error-${list}`}>
                        The list of {list} could not be read: {withMarks(problem!)}
                    </p>
                ))}
            {server.hidden.length > 0 && <HiddenWarning findings={server.hidden} />}
            {server.instructions && (
                <>
                    <h2>Instructions for models</h2>
                    <Paragraph text={server.instructions} testid="instructions" />
                </>
            )}
            {server.capabilities && (
                <>
                    <h2>Capabilities</h2>
                    <Code text={server.capabilities} label="capabilities" testid="capabilities" />
                </>
            )}
        </article>
    );
}

const TRANSPORTS: Record<Server['over'], string> = {
    pipe: 'stdin and stdout of a process',
    http: 'Streamable HTTP',
    memory: 'in memory',
    recording: 'a recording, read only',
};

function plural(number: number, word: string): string {
    return `${count(number)} ${word}${number === 1 ? '' : 's'}`;
}

function ConnectionFailure({ server }: { server: Server }) {
    const error = server.connection.error!;
    return (
        <div class="failure" role="alert" data-testid="connection-error">
            <p>
                <code class="error-code">{error.code}</code> {withMarks(error.message)}
            </p>
            {error.hint && <Hint text={error.hint} testid="connection-hint" />}
            <p>
                <Button testid="ask-doctor" onClick={() => select({ kind: 'doctor' })}>
                    Ask the doctor
                </Button>
            </p>
        </div>
    );
}
