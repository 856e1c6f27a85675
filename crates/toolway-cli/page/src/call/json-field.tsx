// How is JSON edited?
//
// In an ordinary text field with a painted copy behind it: the browser's editing, spelling of keys and undo stay as
// they are. The place of a mistake comes from the server.

import { useRef } from 'preact/hooks';
import { paint } from '../part/json';

interface Props {
    text: string;
    change: (text: string) => void;
    label: string;
    testid: string;
    rows?: number;
    at?: { line: number; column: number } | null;
    describedBy?: string;
}

/** Above this length, painting would make typing slow. */
const LONGEST_PAINTED = 20_000;
const MOST_LINES = 300;

export function JsonField({ text, change, label, testid, rows = 8, at, describedBy }: Props) {
    const copy = useRef<HTMLPreElement>(null);
    const lines = text.length <= LONGEST_PAINTED ? text.split('\n') : [];
    const painted = lines.length > 0 && lines.length <= MOST_LINES;
    const follow = (event: Event) => {
        const field = event.currentTarget as HTMLTextAreaElement;
        if (copy.current) {
            copy.current.scrollTop = field.scrollTop;
            copy.current.scrollLeft = field.scrollLeft;
        }
    };
    return (
        <div class={painted ? 'json-field painted' : 'json-field'}>
            {painted && (
                <pre aria-hidden="true" ref={copy}>
                    {lines.map((line, index) => (
                        <div key={index} class={at?.line === index + 1 ? 'json-line wrong' : 'json-line'}>
                            {paint(line).map((part) => (part.paint === 'plain' ? part.text : <span class={`json-${part.paint}`}>{part.text}</span>))}
                            {'\u200b'}
                        </div>
                    ))}
                </pre>
            )}
            <textarea
                aria-label={label}
                aria-describedby={describedBy}
                aria-invalid={at ? true : undefined}
                data-testid={testid}
                rows={Math.max(rows, Math.min(20, text.split('\n').length + 1))}
                value={text}
                spellcheck={false}
                autocomplete="off"
                autocapitalize="off"
                wrap="off"
                onInput={(event) => change(event.currentTarget.value)}
                onScroll={follow}
            />
        </div>
    );
}
