// How is a tool called, and how did the call go?

import { useEffect } from 'preact/hooks';
import type { Server, Tool } from '../api/types';
import { Menu } from '../part/menu';
import { FieldPages, Findings } from '../part/pages';
import { shown } from '../state/calls';
import { saveCall } from '../state/saved';
import { changeDraft, checkSoon, draftOf, valueOf } from '../state/drafts';
import { forgetAnswers, keptAnswers } from '../state/questions';
import { EXPORTS, exportShown, run, runBoth } from './actions';
import { BothPane } from './both';
import { CallPane } from './call-pane';
import { choicesOf, Field } from './field';
import { JsonField } from './json-field';
import { Button, Muted, QuietButton, Spacer } from '../part/button';

export function CallTab({ server, tool, elementKey }: { server: Server; tool: Tool; elementKey: string }) {
    const draft = draftOf(elementKey, tool);
    const what = shown.value[elementKey];
    const kept = keptAnswers.value[elementKey] ?? [];
    const change = (next: Parameters<typeof changeDraft>[1]) => {
        changeDraft(elementKey, next, tool);
        checkSoon(elementKey, server.id, tool);
    };
    useEffect(() => {
        if (server.can.call) checkSoon(elementKey, server.id, tool);
    }, [elementKey, tool.input_schema]);

    if (!server.can.call) {
        return (
            <div class="call-tab">
                <p class="quiet-note" data-testid="read-only">
                    A recording has no server to call. Its frames, timeline and latency are below.
                </p>
            </div>
        );
    }
    const check = draft.check;
    // Words of a form that are no value of their type cannot be sent; JSON that does not fit the schema can.
    const isSendable = check === null || (draft.mode === 'json' ? check.at === null : check.arguments !== null);
    const canRun = server.connection.state === 'ready' && isSendable;
    const toJson = () => change({ mode: 'json', text: draft.text === '{}' && check?.arguments ? check.arguments : draft.text });
    return (
        <div class="call-tab">
            <form
                class="call-form"
                data-testid="call-form"
                data-state={check === null ? 'unchecked' : check.ok ? 'fits' : 'differs'}
                onSubmit={(event) => {
                    event.preventDefault();
                    if (canRun) void run(elementKey, server.id, tool);
                }}
            >
                <div class="call-head">
                    {tool.form ? (
                        <fieldset class="segments">
                            <legend class="visually-hidden">Arguments as</legend>
                            <Segment name={elementKey} value="form" label="Form" chosen={draft.mode} choose={() => change({ mode: 'form' })} />
                            <Segment name={elementKey} value="json" label="JSON" chosen={draft.mode} choose={toJson} />
                        </fieldset>
                    ) : (
                        <Muted>The schema is not a list of named members, so the arguments are JSON.</Muted>
                    )}
                    <Spacer />
                    <label class="inline-field">
                        timeout
                        <input class="narrow" inputMode="decimal" value={draft.timeout} data-testid="timeout" onInput={(event) => change({ timeout: event.currentTarget.value })} /> s
                    </label>
                    <QuietButton aria-expanded={draft.meta !== null} testid="meta-toggle" onClick={() => change({ meta: draft.meta === null ? '{}' : null })}>
                        _meta
                    </QuietButton>
                </div>
                {draft.mode === 'form' ? (
                    <Fields tool={tool} elementKey={elementKey} values={draft.values} change={(values) => change({ values })} />
                ) : (
                    <JsonField text={draft.text} change={(text) => change({ text })} label="Arguments as JSON" testid="arguments-json" at={check?.at} describedBy="check-result" />
                )}
                {draft.meta !== null && (
                    <div class="meta-field">
                        <span class="field-label">_meta</span>
                        <JsonField text={draft.meta} change={(meta) => change({ meta })} label="_meta as JSON" testid="meta-json" rows={2} />
                    </div>
                )}
                <CheckResult draft={draft} />
                <div class="call-actions">
                    <button type="submit" class="primary" disabled={!canRun} data-testid="run" title="Ctrl-Enter">
                        {check && !check.ok && canRun ? 'Run anyway' : 'Run'}
                    </button>
                    <Button disabled={!canRun} testid="run-both" onClick={() => void runBoth(elementKey, server.id, tool)}>
                        On both eras
                    </Button>
                    {server.connection.state !== 'ready' && <Muted>waits for the connection, which is {server.connection.state}</Muted>}
                    {kept.length > 0 && (
                        <QuietButton testid="forget-answers" onClick={() => forgetAnswers(elementKey)}>
                            Forget {kept.length === 1 ? 'the kept answer' : `${kept.length} kept answers`}
                        </QuietButton>
                    )}
                    <Spacer />
                    <QuietButton testid="save-call" disabled={!check?.arguments} onClick={() => saveCall(server.name, tool.name, draft.mode === 'json' ? draft.text : (check?.arguments ?? '{}'))}>
                        Save
                    </QuietButton>
                    <Menu
                        label="Copy as"
                        name="Copy as"
                        testid="copy-as"
                        class="quiet"
                        items={EXPORTS.map((kind) => ({ ...kind, act: () => void exportShown(elementKey, kind.id) }))}
                    />
                </div>
            </form>
            {what === undefined ? null : 'call' in what ? <CallPane id={what.call} elementKey={elementKey} /> : <BothPane id={what.both} />}
        </div>
    );
}

function Segment({ name, value, label, chosen, choose }: { name: string; value: string; label: string; chosen: string; choose: () => void }) {
    return (
        <label class="segment">
            <input type="radio" name={`mode-${name}`} checked={chosen === value} onChange={choose} data-testid={`mode-${value}`} />
            <span>{label}</span>
        </label>
    );
}

interface FieldsProps {
    tool: Tool;
    elementKey: string;
    values: Record<string, string>;
    change: (values: Record<string, string>) => void;
}

function Fields({ tool, elementKey, values, change }: FieldsProps) {
    if (tool.fields.length === 0) return <p class="quiet-note">This tool takes no arguments.</p>;
    return (
        <FieldPages
            of={tool.fields}
            nameOf={(field) => field.name}
            choicesOf={choicesOf}
            draw={(field) => (
                <Field
                    key={`${elementKey}/${field.name}`}
                    id={`field-${field.name}`}
                    testid={`field-${field.name}`}
                    field={field}
                    value={valueOf(values, field.name) ?? ''}
                    change={(value) => change({ ...values, [field.name]: value })}
                />
            )}
        />
    );
}

/** The server's verdict about the arguments, in the words of `toolway call`. */
function CheckResult({ draft }: { draft: ReturnType<typeof draftOf> }) {
    const { check } = draft;
    return (
        <div id="check-result" class="check-result" role="status" data-testid="check-result">
            {check === null ? (
                <Muted>checking …</Muted>
            ) : check.ok ? (
                <span class="tone-ok">fits the schema</span>
            ) : (
                <Findings of={check.problems.map((problem) => (check.at ? `${problem} (line ${check.at.line}, column ${check.at.column})` : problem))} class="problems" />
            )}
        </div>
    );
}
