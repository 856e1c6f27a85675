// What does the main pane show for the selection?

import type { ComponentChildren } from 'preact';
import { useEffect, useErrorBoundary } from 'preact/hooks';
import type { Server, Tool } from '../api/types';
import { CallTab } from '../call/call-tab';
import { Empty } from '../part/empty';
import { Tabs } from '../part/tabs';
import { Findings } from '../part/pages';
import { Paragraph } from '../part/visible';
import { QuestionForm } from '../call/question';
import { looseQuestions } from '../state/questions';
import { elementKey, found, select, selection, toolTab, type ToolTab } from '../state/selection';
import { count } from '../state/clock';
import { server as shownServer, tokenCount } from '../state/servers';
import { Loading } from './answer';
import { DoctorView } from './doctor';
import { HistoryTab } from './history';
import { HubView } from './hub';
import { ModelsTab } from './models';
import { PromptPane } from './prompt';
import { RecordingsView } from './recordings';
import { ResourcePane } from './resource';
import { SchemaTab } from './schema';
import { ServerView } from './server';
import { Button, Spacer } from '../part/button';
import { Heading } from '../part/heading';

export function ElementPane() {
    const server = shownServer.value;
    const chosen = selection.value;
    return (
        <main class="pane" id="pane" tabIndex={-1} data-testid="pane" data-state={chosen.kind}>
            {looseQuestions.value.map((question) => (
                <QuestionForm key={question.id} question={question} keepUnder={null} />
            ))}
            <Guarded key={elementKey.value ?? chosen.kind}>
                {server === null ? <Empty title="No server yet">The inspector knows no server. Start it with a target: toolway inspect -- COMMAND</Empty> : <Chosen server={server} />}
            </Guarded>
        </main>
    );
}

/** A view that cannot draw what a server sent says so; the rest of the page goes on. */
function Guarded({ children }: { children: ComponentChildren }) {
    const [problem] = useErrorBoundary();
    return problem === undefined ? <>{children}</> : <Loading what="" problem={`this view failed: ${problem}`} />;
}

function Chosen({ server }: { server: Server }) {
    switch (selection.value.kind) {
        case 'server':
            return <ServerView server={server} />;
        case 'doctor':
            return <DoctorView server={server} />;
        case 'hub':
            return <HubView />;
        case 'recordings':
            return <RecordingsView />;
        default:
            return <ChosenElement server={server} />;
    }
}

function ChosenElement({ server }: { server: Server }) {
    const what = found.value;
    const key = elementKey.value;
    if (what === null || key === null) {
        return (
            <Empty title="This element is not in the list any more" testid="element-gone">
                <Button onClick={() => select({ kind: 'server' })}>
                    Show the server
                </Button>
            </Empty>
        );
    }
    switch (what.kind) {
        case 'tool':
            return <ToolPane key={key} server={server} tool={what.tool} elementKey={key} />;
        case 'prompt':
            return <PromptPane key={key} server={server} prompt={what.prompt} elementKey={key} />;
        default:
            return <ResourcePane key={key} server={server} element={what.element} elementKey={key} />;
    }
}

const TABS: { id: ToolTab; label: string }[] = [
    { id: 'call', label: 'Call' },
    { id: 'schema', label: 'Schema' },
    { id: 'models', label: 'For models' },
    { id: 'history', label: 'History' },
];

function ToolPane({ server, tool, elementKey }: { server: Server; tool: Tool; elementKey: string }) {
    useEffect(() => {
        document.getElementById('pane')?.scrollTo(0, 0);
    }, [elementKey]);
    return (
        <article class="element" data-testid="tool">
            <Heading name={tool.name} title={tool.title}>
                <Hints tool={tool} />
                <Spacer />
                <span class="muted tokens" title="tokens that this tool costs in each request to a model">
                    ~{count(tokenCount(tool.tokens))} tokens
                </span>
            </Heading>
            {tool.description && <Paragraph text={tool.description} testid="description" />}
            {tool.hidden.length > 0 && <HiddenWarning findings={tool.hidden} />}
            <Tabs tabs={TABS} chosen={toolTab.value} choose={(tab) => (toolTab.value = tab)} label="Views of the tool" testid="tool-tab">
                {toolTab.value === 'call' && <CallTab server={server} tool={tool} elementKey={elementKey} />}
                {toolTab.value === 'schema' && <SchemaTab tool={tool} />}
                {toolTab.value === 'models' && <ModelsTab server={server} tool={tool} />}
                {toolTab.value === 'history' && <HistoryTab server={server} tool={tool} elementKey={elementKey} />}
            </Tabs>
        </article>
    );
}

export function HiddenWarning({ findings }: { findings: string[] }) {
    return (
        <div class="warning" role="note" data-testid="hidden-warning">
            <strong>Hidden characters.</strong> A model reads them, a person does not see them:
            <Findings of={findings} />
        </div>
    );
}

/** The tool's annotations: claims of the server, not facts. */
function Hints({ tool }: { tool: Tool }) {
    const hints = tool.annotations;
    if (!hints) return null;
    const words: [string, string][] = [];
    if (hints.readOnlyHint) words.push(['read-only', 'plain']);
    if (hints.destructiveHint && !hints.readOnlyHint) words.push(['destructive', 'bad']);
    if (hints.idempotentHint) words.push(['idempotent', 'plain']);
    if (hints.openWorldHint) words.push(['open world', 'plain']);
    return (
        <span class="hints">
            {words.map(([word, tone]) => (
                <span key={word} class={`hint-mark hint-${tone}`} title="as the server says; not checked">
                    {word}
                </span>
            ))}
        </span>
    );
}
