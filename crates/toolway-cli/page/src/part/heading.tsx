// How does the head of an element or view look?

import type { ComponentChildren } from 'preact';
import { Visible } from './visible';

export function Heading({ name, title, children }: { name: string; title?: string | null; children?: ComponentChildren }) {
    return (
        <header class="element-head">
            <h1 data-testid="element-name">
                <Visible text={name} />
            </h1>
            {title && (
                <span class="element-title">
                    <Visible text={title} />
                </span>
            )}
            {children}
        </header>
    );
}
