// How is a text of a peer shown so that nothing in it is invisible?
//
// Control, bidirectional and zero-width characters become marks with their code. A description may otherwise contain
// instructions that only a model sees.

import type { ComponentChildren } from 'preact';

const HIDDEN =
    /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
const MOST_MARKS = 100;

/** The code of a character, as Unicode writes it. */
function code(character: string): string {
    return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Splits a text into plain pieces and marks. */
export function withMarks(text: string): ComponentChildren {
    HIDDEN.lastIndex = 0;
    if (!HIDDEN.test(text)) return text;
    HIDDEN.lastIndex = 0;
    const pieces: ComponentChildren[] = [];
    let at = 0;
    let marks = 0;
    for (const match of text.matchAll(HIDDEN)) {
        if (marks === MOST_MARKS) {
            pieces.push(text.slice(at).replace(HIDDEN, '\u00b7'));
            return pieces;
        }
        marks += 1;
        pieces.push(text.slice(at, match.index));
        pieces.push(
            <mark class="hidden-character" data-testid="hidden-character" title="an invisible character">
                {code(match[0])}
            </mark>,
        );
        at = match.index + match[0].length;
    }
    pieces.push(text.slice(at));
    return pieces;
}

/** A text of a peer, kept apart from the direction of the text around it. */
export function Visible({ text }: { text: string }) {
    return <bdi>{withMarks(text)}</bdi>;
}

/** A text of several lines: line breaks stay. */
export function Paragraph({ text, testid }: { text: string; testid?: string }) {
    return (
        <p class="paragraph" dir="auto" data-testid={testid}>
            {withMarks(text)}
        </p>
    );
}
