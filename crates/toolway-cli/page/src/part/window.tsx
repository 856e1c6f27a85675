// How does a list of 10,000 rows stay small in the document?
//
// All rows have the same height; only those in sight, and a few around them, exist.

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

const AROUND = 8;
/** Lists up to this length are drawn whole, so that the browser's own search finds every row. */
const WHOLE = 100;

interface Props {
    count: number;
    rowHeight: number;
    row: (index: number) => ComponentChildren;
    /** The row that has to be in sight. */
    reveal?: number | null;
    /** Keeps the end in sight while the reader is there. */
    stick?: boolean;
    /** Attributes of the scrolling element: role, name, keys. */
    [attribute: string]: unknown;
}

export function Windowed({ count, rowHeight, row, reveal, stick, class: name, ...rest }: Props) {
    const box = useRef<HTMLDivElement>(null);
    const atEnd = useRef(true);
    const [view, setView] = useState({ top: 0, height: 400 });

    const measure = () => {
        const element = box.current;
        if (!element) return;
        const { scrollTop, clientHeight } = element;
        setView((old) => (old.top === scrollTop && old.height === clientHeight ? old : { top: scrollTop, height: clientHeight }));
    };

    // Only the reader's own scrolling leaves the end: growth and changes of size do not.
    const scrolled = () => {
        const { scrollTop, clientHeight, scrollHeight } = box.current!;
        atEnd.current = scrollTop + clientHeight >= scrollHeight - rowHeight;
        measure();
    };
    const toEnd = () => {
        if (stick && atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
        measure();
    };

    const toEndNow = useRef(toEnd);
    toEndNow.current = toEnd;

    useLayoutEffect(() => {
        measure();
        const observer = new ResizeObserver(() => toEndNow.current());
        observer.observe(box.current!);
        return () => observer.disconnect();
    }, []);

    useLayoutEffect(toEnd, [count, stick]);

    useLayoutEffect(() => {
        const element = box.current;
        if (!element || reveal === null || reveal === undefined || reveal < 0) return;
        const top = reveal * rowHeight;
        if (top < element.scrollTop) element.scrollTop = top;
        else if (top + rowHeight > element.scrollTop + element.clientHeight) {
            element.scrollTop = top + rowHeight - element.clientHeight;
        }
        measure();
    }, [reveal, rowHeight]);

    const whole = count <= WHOLE;
    const first = whole ? 0 : Math.max(0, Math.floor(view.top / rowHeight) - AROUND);
    const end = whole ? count : Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + AROUND);
    const rows: ComponentChildren[] = [];
    for (let index = first; index < end; index += 1) rows.push(row(index));
    return (
        <div {...rest} ref={box} class={`windowed ${(name as string | undefined) ?? ''}`} onScroll={scrolled}>
            <div class="window-all" role="presentation" style={{ height: `${count * rowHeight}px` }}>
                <div class="window-rows" role="presentation" style={{ transform: `translateY(${first * rowHeight}px)` }}>
                    {rows}
                </div>
            </div>
        </div>
    );
}
