// How does the reader answer a server that asks in the middle of a call?

import { useState } from 'preact/hooks';
import type { Question } from '../api/types';
import { Code } from '../part/code';
import { Link, isWeb } from '../part/link';
import { FieldPages } from '../part/pages';
import { Paragraph, withMarks } from '../part/visible';
import { calls, isOver } from '../state/calls';
import { fieldWords, valueOf } from '../state/drafts';
import { answerQuestion, type Answer } from '../state/questions';
import { choicesOf, defaultWords, Field } from './field';
import { JsonField } from './json-field';
import { Button, Spacer } from '../part/button';

interface Props {
    question: Question;
    /** The element under which a kept answer is found again. */
    keepUnder: string | null;
    of?: number;
}

const TITLES: Record<Question['kind'], string> = {
    form: 'The server asks',
    url: 'The server asks you to open a page',
    sampling: 'The server asks for a model’s answer',
    roots: 'The server asks for roots',
};

export function QuestionForm({ question, keepUnder, of }: Props) {
    const [values, setValues] = useState<Record<string, string>>(() => defaults(question));
    const [asJson, setAsJson] = useState(question.kind === 'form' && question.fields.length === 0 && question.params.includes('"properties"'));
    const [content, setContent] = useState('{}');
    const [keep, setKeep] = useState(false);
    const [busy, setBusy] = useState(false);
    const [problem, setProblem] = useState<string | null>(null);
    const answer = async (answer: Answer) => {
        setBusy(true);
        setProblem(await answerQuestion(question, answer, keep ? keepUnder : null));
        setBusy(false);
    };
    const accept = () => {
        if (question.kind === 'url') return answer({ action: 'accept' });
        if (question.kind === 'sampling') {
            return answer({ action: 'accept', content: JSON.stringify({ model: values.model ?? '', text: values.text ?? '' }) });
        }
        if (asJson) return answer({ action: 'accept', content });
        return answer({ action: 'accept', fields: fieldWords(question.fields, values) });
    };
    const id = `question-${question.id}`;
    return (
        <form
            class="question"
            aria-labelledby={`${id}-title`}
            data-testid={id}
            data-state={busy ? 'sending' : 'open'}
            onSubmit={(event) => {
                event.preventDefault();
                void accept();
            }}
        >
            <p class="question-title" id={`${id}-title`} role="status">
                {question.call !== null && <span class="state state-asking">round {Math.max(question.round, 1)}{of && of > question.round ? ` of ${of}` : ''}</span>} {TITLES[question.kind]}
            </p>
            {question.call === null && (
                <p class="quiet-note" data-testid="question-calls">
                    {withMarks(askerWords(question))}
                </p>
            )}
            <Paragraph text={question.message} testid="question-message" />
            {question.kind === 'url' && question.url !== null && (
                <p class="question-url">
                    <Link address={question.url} testid="question-url" />
                    {!isWeb(question.url) && <span class="tone-bad"> Not opened: only http and https are.</span>}
                </p>
            )}
            {question.kind === 'form' &&
                (asJson ? (
                    <JsonField text={content} change={setContent} label="Answer as JSON" testid="question-json" rows={4} />
                ) : (
                    <FieldPages
                        of={question.fields}
                        nameOf={(field) => field.title ?? field.name}
                        choicesOf={choicesOf}
                        draw={(field) => (
                            <Field
                                key={field.name}
                                id={`${id}-${field.name}`}
                                testid={`question-field-${field.name}`}
                                field={field}
                                value={valueOf(values, field.name) ?? ''}
                                change={(value) => setValues({ ...values, [field.name]: value })}
                            />
                        )}
                    />
                ))}
            {question.kind === 'sampling' && <SamplingFields id={id} values={values} setValues={setValues} />}
            {problem !== null && (
                <p class="field-problem" role="alert" data-testid="question-problem">
                    {withMarks(problem)}
                </p>
            )}
            <div class="call-actions">
                <button type="submit" class="primary" disabled={busy} data-testid="question-accept">
                    {question.kind === 'url' ? 'I opened it' : 'Answer'}
                </button>
                <Button disabled={busy} testid="question-decline" onClick={() => void answer({ action: 'decline' })}>
                    Decline
                </Button>
                <Button disabled={busy} testid="question-cancel" onClick={() => void answer({ action: 'cancel' })}>
                    Cancel
                </Button>
                <Spacer />
                {question.kind === 'form' && (
                    <label class="check-label">
                        <input type="checkbox" checked={asJson} data-testid="question-as-json" onChange={(event) => setAsJson(event.currentTarget.checked)} /> as JSON
                    </label>
                )}
                {keepUnder !== null && (
                    <label class="check-label">
                        <input type="checkbox" checked={keep} data-testid="keep-answers" onChange={(event) => setKeep(event.currentTarget.checked)} /> keep answers
                    </label>
                )}
            </div>
            <details>
                <summary data-testid="question-raw">raw</summary>
                <Code text={question.params} label="parameters of the question" />
            </details>
        </form>
    );
}

interface SamplingProps {
    id: string;
    values: Record<string, string>;
    setValues: (values: Record<string, string>) => void;
}

/** The reader takes the model's place. */
function SamplingFields({ id, values, setValues }: SamplingProps) {
    return (
        <div class="fields">
            <div class="field">
                <label for={`${id}-model`}>model</label>
                <input id={`${id}-model`} type="text" value={values.model ?? ''} data-testid="sampling-model" onInput={(event) => setValues({ ...values, model: event.currentTarget.value })} />
            </div>
            <div class="field field-text">
                <label for={`${id}-text`}>text</label>
                <textarea id={`${id}-text`} rows={3} value={values.text ?? ''} data-testid="sampling-text" onInput={(event) => setValues({ ...values, text: event.currentTarget.value })} />
            </div>
        </div>
    );
}

/** Which calls may ask, where the connection does not tell which one does. */
function askerWords({ calls: ids }: Question): string {
    const running = ids.map((id) => calls.value.get(id)).filter((call) => call !== undefined && !isOver(call));
    const names = running.map((call) => `${call!.name} (call ${call!.id})`);
    if (names.length === 0) return 'No call of this page is running.';
    return names.length === 1 ? `Only ${names[0]} is still running.` : `One of these calls asks; the connection does not tell which: ${names.join(', ')}.`;
}

/** Defaults of the schema are filled in: a form is meant to be answered as it stands. */
function defaults(question: Question): Record<string, string> {
    const values: Record<string, string> = question.kind === 'sampling' ? { model: 'a person', text: '' } : {};
    for (const field of question.fields) {
        if (field.default != null) values[field.name] = defaultWords(field);
    }
    return values;
}
