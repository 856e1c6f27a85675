// How is a prompt filled in and read?

import { useState } from 'preact/hooks';
import type { PromptElement, Server } from '../api/types';
import { CallPane } from '../call/call-pane';
import { FieldPages } from '../part/pages';
import { Paragraph } from '../part/visible';
import { shown, startCall } from '../state/calls';
import { valueOf } from '../state/drafts';
import { Completed } from './completed';
import { HiddenWarning } from './element-pane';
import { Heading } from '../part/heading';

export function PromptPane({ server, prompt, elementKey }: { server: Server; prompt: PromptElement; elementKey: string }) {
    const [values, setValues] = useState<Record<string, string>>({});
    const what = shown.value[elementKey];
    const read = () => {
        const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
        void startCall(elementKey, { server: server.id, kind: 'prompt', name: prompt.name, arguments: JSON.stringify(given) });
    };
    return (
        <article class="element" data-testid="prompt">
            <Heading name={prompt.name} title={prompt.title} />
            {prompt.description && <Paragraph text={prompt.description} testid="description" />}
            {prompt.hidden.length > 0 && <HiddenWarning findings={prompt.hidden} />}
            {server.can.call ? (
                <form
                    class="call-form"
                    onSubmit={(event) => {
                        event.preventDefault();
                        read();
                    }}
                >
                    {prompt.arguments.length === 0 ? (
                        <p class="quiet-note">This prompt takes no arguments.</p>
                    ) : (
                        <FieldPages
                            of={prompt.arguments}
                            nameOf={(argument) => argument.name}
                            draw={(argument) => (
                                <Completed
                                    key={argument.name}
                                    server={server}
                                    of={{ prompt: prompt.name }}
                                    name={argument.name}
                                    about={argument.description}
                                    required={argument.required}
                                    value={valueOf(values, argument.name) ?? ''}
                                    others={values}
                                    change={(value) => setValues({ ...values, [argument.name]: value })}
                                />
                            )}
                        />
                    )}
                    <div class="call-actions">
                        <button type="submit" class="primary" data-testid="read" disabled={server.connection.state !== 'ready'}>
                            Get
                        </button>
                    </div>
                </form>
            ) : (
                <p class="quiet-note">A recording has no server to ask.</p>
            )}
            {what && 'call' in what && <CallPane id={what.call} elementKey={elementKey} />}
        </article>
    );
}
