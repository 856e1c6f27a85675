// What changed in a server's lists: what was, and what is?

import { useState } from 'preact/hooks';
import type { CatalogDiff, ListDiff } from '../api/types';
import { Code } from '../part/code';
import { withMarks } from '../part/visible';
import { LinkButton, Unseen } from '../part/button';

const MOST = 50;

export function changesInWords(diff: CatalogDiff): string {
    const parts: string[] = [];
    for (const [list, change] of Object.entries(diff)) {
        if (isEmpty(change)) continue;
        const counts = [
            change.added.length > 0 ? `${change.added.length} added` : '',
            change.removed.length > 0 ? `${change.removed.length} removed` : '',
            change.changed.length > 0 ? `${change.changed.length} changed` : '',
        ].filter(Boolean);
        parts.push(`${list}: ${counts.join(', ')}`);
    }
    return parts.join('; ') || 'nothing that is shown here';
}

function isEmpty(change: ListDiff): boolean {
    return change.added.length + change.removed.length + change.changed.length === 0;
}

export function CatalogChanges({ diff }: { diff: CatalogDiff }) {
    return (
        <div class="catalog-changes" data-testid="catalog-changes">
            {Object.entries(diff)
                .filter(([, change]) => !isEmpty(change))
                .map(([list, change]) => (
                    <section key={list}>
                        <h3>{list}</h3>
                        <ul>
                            {change.added.slice(0, MOST).map((name) => (
                                <li key={`+${name}`} class="is">
                                    <span aria-hidden="true">+ </span>
                                    <Unseen>added </Unseen>
                                    <code>{withMarks(name)}</code>
                                </li>
                            ))}
                            {change.removed.slice(0, MOST).map((name) => (
                                <li key={`-${name}`} class="was">
                                    <span aria-hidden="true">− </span>
                                    <Unseen>removed </Unseen>
                                    <code>{withMarks(name)}</code>
                                </li>
                            ))}
                            {change.changed.slice(0, MOST).map((changed) => (
                                <li key={changed.name}>
                                    <code>{withMarks(changed.name)}</code>
                                    <ul>
                                        {changed.words.slice(0, 20).map((words) => (
                                            <li key={words}>{withMarks(words)}</li>
                                        ))}
                                    </ul>
                                    <Whole was={changed.was} is={changed.is} name={changed.name} />
                                </li>
                            ))}
                        </ul>
                    </section>
                ))}
        </div>
    );
}

function Whole({ was, is, name }: { was: string; is: string; name: string }) {
    const [open, setOpen] = useState(false);
    return (
        <>
            <LinkButton aria-expanded={open} onClick={() => setOpen(!open)}>
                {open ? 'Hide both definitions' : 'Both definitions'}
            </LinkButton>
            {open && (
                <div class="side-by-side">
                    <Code text={was} label={`${name} as it was`} />
                    <Code text={is} label={`${name} as it is`} />
                </div>
            )}
        </>
    );
}
