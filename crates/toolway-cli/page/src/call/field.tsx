// How is one argument asked for?
//
// Each kind has the control that suits it; all of them give words, which the server turns into values.

import type { Field as FieldType } from '../api/types';
import { withMarks } from '../part/visible';
import { Unseen } from '../part/button';

interface Props {
    field: FieldType;
    value: string;
    id: string;
    change: (value: string) => void;
    testid: string;
    /** Found by the server; shown below the control. */
    problem?: string | null;
}

export function Field({ field, value, id, change, testid, problem }: Props) {
    const described = [field.description ? `${id}-about` : '', problem ? `${id}-problem` : ''].filter(Boolean).join(' ') || undefined;
    const take = (event: Event) => change((event.currentTarget as HTMLInputElement).value);
    const common = {
        id,
        'aria-describedby': described,
        'aria-required': field.required,
        'aria-invalid': problem ? true : undefined,
        'data-testid': testid,
    };
    return (
        <div class={`field field-${field.kind}`}>
            <label for={id}>
                {withMarks(field.title ?? field.name)}
                {field.required && (
                    <span class="required" title="required">
                        <span aria-hidden="true">*</span>
                        <Unseen> required</Unseen>
                    </span>
                )}
                <span class="field-kind">{expectedWords(field)}</span>
            </label>
            <Control field={field} value={value} change={change} take={take} common={common} />
            {field.description && (
                <p class="field-about" id={`${id}-about`}>
                    {withMarks(field.description)}
                </p>
            )}
            {problem && (
                <p class="field-problem" id={`${id}-problem`}>
                    {withMarks(problem)}
                </p>
            )}
        </div>
    );
}

interface ControlProps {
    field: FieldType;
    value: string;
    change: (value: string) => void;
    take: (event: Event) => void;
    common: Record<string, unknown>;
}

function Control({ field, value, change, take, common }: ControlProps) {
    switch (field.kind) {
        case 'boolean':
            return <Choice choices={['true', 'false']} field={field} value={value} change={change} common={common} />;
        case 'choice':
            if (choicesOf(field) === 0) break;
            return <Choice choices={field.choices!} field={field} value={value} change={change} common={common} />;
        case 'json':
            return <textarea {...common} class="mono" rows={3} value={value} onInput={take} placeholder={field.default ?? '{}'} spellcheck={false} autocomplete="off" />;
        case 'text':
            return <textarea {...common} rows={Math.min(8, Math.max(1, value.split('\n').length))} value={value} onInput={take} placeholder={defaultWords(field)} autocomplete="off" />;
    }
    return (
        <input
            {...common}
            type="text"
            inputMode={field.kind === 'integer' ? 'numeric' : field.kind === 'number' ? 'decimal' : undefined}
            value={value}
            onInput={take}
            placeholder={defaultWords(field) || (field.kind === 'list' ? 'a,b,c' : '')}
            autocomplete="off"
            spellcheck={false}
        />
    );
}

/** More are easier to type than to find in a list. */
const MOST_CHOICES = 200;

/** How many choices the control of a field lists. */
export function choicesOf({ kind, choices }: FieldType): number {
    if (kind === 'boolean') return 2;
    return kind === 'choice' && choices !== null && choices.length <= MOST_CHOICES ? choices.length : 0;
}

function Choice({ choices, field, value, change, common }: Omit<ControlProps, 'take'> & { choices: string[] }) {
    const words = defaultWords(field);
    const nothing = words === '' ? 'not sent' : `not sent (default ${words})`;
    return (
        <select {...common} value={value} onChange={(event) => change(event.currentTarget.value)}>
            <option value="">{field.required ? 'choose' : nothing}</option>
            {choices.map((choice) => (
                <option key={choice} value={choice}>
                    {choice}
                </option>
            ))}
        </select>
    );
}

/** The default as a reader would type it: a text without its quotes. */
export function defaultWords({ default: text }: FieldType): string {
    return text?.startsWith('"') ? (JSON.parse(text) as string) : (text ?? '');
}

/** What the server expects, when the control does not tell it already. */
function expectedWords(field: FieldType): string {
    return field.kind === 'choice' || field.kind === 'boolean' ? '' : field.expected;
}
