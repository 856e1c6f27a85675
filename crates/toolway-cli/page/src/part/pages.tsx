// How is a list drawn that a server may make as long as it likes? A part of it at a time.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { count } from '../state/clock';
import { withMarks } from './visible';

const MOST_FIELDS = 50;
const MOST_TEXTS = 20;
/** So many choices of a field need as much room as another field. */
const CHOICES = 8;

interface Props<F> {
    of: F[];
    nameOf: (field: F) => string;
    /** How many choices the control of a field lists. */
    choicesOf?: (field: F) => number;
    draw: (field: F) => ComponentChildren;
}

/** The fields of a form. If there are many, a list chooses which of them are drawn. */
export function FieldPages<F>({ of, nameOf, choicesOf, draw }: Props<F>) {
    const [chosen, choose] = useState(0);
    const pages = pagesOf(of, choicesOf);
    const page = Math.min(chosen, pages.length - 1);
    return (
        <>
            {pages.length > 1 && (
                <label class="inline-field">
                    fields
                    <select value={String(page)} data-testid="field-pages" onChange={(event) => choose(Number(event.currentTarget.value))}>
                        {pages.map((fields, index) => (
                            <option key={index} value={String(index)}>
                                {nameOf(fields[0]!)} … {nameOf(fields.at(-1)!)}
                            </option>
                        ))}
                    </select>
                    of {count(of.length)}
                </label>
            )}
            <div class="fields">{pages[page]?.map(draw)}</div>
        </>
    );
}

function pagesOf<F>(fields: F[], choicesOf: Props<F>['choicesOf']): F[][] {
    const pages: F[][] = [];
    let room = 0;
    for (const field of fields) {
        const size = 1 + (choicesOf?.(field) ?? 0) / CHOICES;
        if (room < size) {
            pages.push([]);
            room = MOST_FIELDS;
        }
        room -= size;
        pages.at(-1)!.push(field);
    }
    return pages;
}

/** Findings of the inspector about something of a server. */
export function Findings({ of, class: kind }: { of: string[]; class?: string }) {
    return (
        <ul class={kind}>
            {of.slice(0, MOST_TEXTS).map((text) => (
                <li key={text}>{withMarks(text)}</li>
            ))}
            {of.length > MOST_TEXTS && <li>and {count(of.length - MOST_TEXTS)} more</li>}
        </ul>
    );
}
