// How is a resource read, and how is a template filled in?

import { useState } from 'preact/hooks';
import { post, words } from '../api/request';
import type { Element, Server } from '../api/types';
import { CallPane } from '../call/call-pane';
import { FieldPages } from '../part/pages';
import { Visible, Paragraph } from '../part/visible';
import { shown, startCall } from '../state/calls';
import { size } from '../state/clock';
import { notify } from '../state/notices';
import { HiddenWarning } from './element-pane';
import { valueOf } from '../state/drafts';
import { Completed } from './completed';
import { Muted, Spacer } from '../part/button';
import { Heading } from '../part/heading';

export function ResourcePane({ server, element, elementKey }: { server: Server; element: Element; elementKey: string }) {
    const variables = element.variables;
    const [values, setValues] = useState<Record<string, string>>({});
    const [watched, setWatched] = useState(false);
    const what = shown.value[elementKey];
    const read = () => {
        const request = { server: server.id, kind: 'resource' as const, name: element.name };
        if (variables === undefined) void startCall(elementKey, { ...request, uri: element.uri });
        else void startCall(elementKey, { ...request, template: element.uri, arguments: JSON.stringify(values) });
    };
    const watch = async (on: boolean) => {
        try {
            await post('/api/watch', { server: server.id, uri: element.uri, on });
            setWatched(on);
        } catch (problem) {
            notify(words(problem));
        }
    };
    return (
        <article class="element" data-testid={variables === undefined ? 'resource' : 'template'}>
            <Heading name={element.name} title={element.title}>
                <Spacer />
                <Muted>
                    {element.mime_type && <Visible text={element.mime_type} />}
                    {element.size != null && ` ${size(element.size)}`}
                </Muted>
            </Heading>
            <p>
                <code class="address">
                    <Visible text={element.uri} />
                </code>
            </p>
            {element.description && <Paragraph text={element.description} testid="description" />}
            {element.hidden.length > 0 && <HiddenWarning findings={element.hidden} />}
            {server.can.call ? (
                <form
                    class="call-form"
                    onSubmit={(event) => {
                        event.preventDefault();
                        read();
                    }}
                >
                    {variables && variables.length > 0 && (
                        <FieldPages
                            of={variables}
                            nameOf={(variable) => variable}
                            draw={(variable) => (
                                <Completed
                                    key={variable}
                                    server={server}
                                    of={{ template: element.uri }}
                                    name={variable}
                                    required
                                    value={valueOf(values, variable) ?? ''}
                                    others={values}
                                    change={(value) => setValues({ ...values, [variable]: value })}
                                />
                            )}
                        />
                    )}
                    <div class="call-actions">
                        <button type="submit" class="primary" data-testid="read" disabled={server.connection.state !== 'ready'}>
                            Read
                        </button>
                        {variables === undefined && (
                            <label class="check-label">
                                <input type="checkbox" checked={watched} data-testid="watch" onChange={(event) => void watch(event.currentTarget.checked)} /> tell me about changes
                            </label>
                        )}
                    </div>
                </form>
            ) : (
                <p class="quiet-note">A recording has no server to read from.</p>
            )}
            {what && 'call' in what && <CallPane id={what.call} elementKey={elementKey} />}
        </article>
    );
}
