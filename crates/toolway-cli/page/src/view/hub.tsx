// How are all servers of the configuration, and what do models see of them together?

import { get } from '../api/request';
import type { Hub } from '../api/types';
import { Empty } from '../part/empty';
import { withMarks } from '../part/visible';
import { Windowed } from '../part/window';
import { count, duration } from '../state/clock';
import { currentId, servers, tokenCount } from '../state/servers';
import { select } from '../state/selection';
import { Loading, useAnswer } from './answer';
import { LinkButton, Muted, Spacer } from '../part/button';
import { Heading } from '../part/heading';
import { TableHead } from '../part/table';

export function HubView() {
    const states = servers.value.map((server) => `${server.connection.state}${server.tools.length}`).join(' ');
    const { answer, problem } = useAnswer(() => get<Hub>('/api/hub'), [states]);
    if (answer === null) return <Loading what="the hub" problem={problem} />;
    if (answer.servers.length === 0) {
        return <Empty title="No servers in the hub">Start the inspector with several servers: toolway inspect --config mcp.json</Empty>;
    }
    const open = (name: string) => {
        const server = servers.value.find((server) => server.name === name);
        if (!server) return;
        currentId.value = server.id;
        select({ kind: 'server' });
    };
    return (
        <article class="element" data-testid="hub">
            <Heading name="Hub">
                <Spacer />
                <span class="muted tokens" data-testid="hub-tokens">~{count(tokenCount(answer.tokens))} tokens together</span>
            </Heading>
            <table class="hub-servers">
                <TableHead columns={['server', 'state', 'tools:', 'tokens:', 'target']} />
                <tbody>
                    {answer.servers.slice(0, 100).map((server) => (
                        <tr key={server.name} data-testid={`hub-server-${server.name}`} data-state={server.state}>
                            <td>
                                <LinkButton onClick={() => open(server.name)}>
                                    {withMarks(server.name)}
                                </LinkButton>
                            </td>
                            <td>
                                <span class={`dot dot-${server.state}`} aria-hidden="true" /> {server.state}
                                {server.error && <p class="tone-bad">{withMarks(server.error)}</p>}
                                {server.next_try_ms != null && <p class="muted">next try in {duration(server.next_try_ms)}</p>}
                            </td>
                            <td class="number">{count(server.tools)}</td>
                            <td class="number">~{count(tokenCount(server.tokens))}</td>
                            <td class="mono">{withMarks(server.target)}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
            <h2>Names that two servers have</h2>
            {answer.collisions.length === 0 ? (
                <p class="tone-ok" data-testid="no-collisions">None: every name belongs to one server.</p>
            ) : (
                <ul data-testid="collisions">
                    {answer.collisions.slice(0, 100).map((collision) => (
                        <li key={collision.name}>
                            <code>{withMarks(collision.name)}</code> of {collision.servers.join(', ')}
                        </li>
                    ))}
                </ul>
            )}
            <h2>Names as models see them</h2>
            <Windowed
                class="hub-names"
                count={answer.names.length}
                rowHeight={26}
                role="list"
                aria-label="Names as models see them"
                tabIndex={0}
                row={(index) => {
                    const name = answer.names[index]!;
                    return (
                        <div key={name.shown} role="listitem" class="hub-name">
                            <code>{withMarks(name.shown)}</code>
                            <Muted>
                                {withMarks(name.name)} of {withMarks(name.server)}
                            </Muted>
                        </div>
                    );
                }}
            />
        </article>
    );
}
