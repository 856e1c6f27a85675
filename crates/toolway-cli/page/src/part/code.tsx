// How are JSON and long texts shown?

import { useMemo, useState } from 'preact/hooks';
import { size } from '../state/clock';
import { Copy } from './copy';
import { layOut, paint } from './json';
import { withMarks } from './visible';
import { Windowed } from './window';
import { LinkButton, Muted } from './button';

const LINE_HEIGHT = 19;
const WIDEST = 2_000;
/** More lines than this scroll in a box of their own. */
const TALLEST = 28;
const FOLDED = 256 * 1024;

interface Props {
    text: string;
    label: string;
    testid?: string;
    /** A text that is not JSON keeps its own lines. */
    plain?: boolean;
    /** Fills the height of the element around it. */
    fill?: boolean;
}

export function Code({ text, label, testid, plain, fill }: Props) {
    const [whole, setWhole] = useState(false);
    const folded = text.length > FOLDED && !whole;
    const lines = useMemo(() => {
        const part = folded ? text.slice(0, FOLDED) : text;
        return (plain ? part : layOut(part)).split('\n');
    }, [text, plain, folded]);
    const height = Math.min(lines.length, TALLEST) * LINE_HEIGHT + 18;
    return (
        <div class={fill ? 'code fill' : 'code'} data-testid={testid}>
            <Copy text={text} label={`Copy ${label}`} />
            <Windowed
                class="code-lines"
                count={lines.length}
                rowHeight={LINE_HEIGHT}
                role="region"
                aria-label={label}
                tabIndex={0}
                style={fill ? undefined : { height: `${height}px` }}
                row={(index) => <Line key={index} line={lines[index] ?? ''} plain={plain} />}
            />
            {folded && (
                <p class="code-note">
                    The first {size(FOLDED)} of {size(text.length)}.{' '}
                    <LinkButton onClick={() => setWhole(true)}>
                        Show all
                    </LinkButton>
                </p>
            )}
        </div>
    );
}

function Line({ line, plain }: { line: string; plain?: boolean }) {
    const cut = line.length > WIDEST;
    const part = cut ? line.slice(0, WIDEST) : line;
    return (
        <div class="code-line">
            {plain ? withMarks(part) : paint(part).map((part) => (part.paint === 'plain' ? part.text : <span class={`json-${part.paint}`}>{withMarks(part.text)}</span>))}
            {cut && <Muted> … {size(line.length - WIDEST)} more in this line</Muted>}
        </div>
    );
}
