// How is an action offered that is not the main one of a form?

import type { ComponentChildren, JSX } from 'preact';

type Props = Omit<JSX.IntrinsicElements['button'], 'type'> & { testid?: string; children?: ComponentChildren };

export function Button({ testid, ...rest }: Props) {
    return <button type="button" data-testid={testid} {...rest} />;
}

/** An action within a sentence. */
export function LinkButton(props: Props) {
    return <Button class="link" {...props} />;
}

/** An action without an edge, beside others. */
export function QuietButton(props: Props) {
    return <Button class="quiet" {...props} />;
}

export function Muted({ children }: { children?: ComponentChildren }) {
    return <span class="muted">{children}</span>;
}

/** A text for screen readers only. */
export function Unseen({ children }: { children?: ComponentChildren }) {
    return <span class="visually-hidden">{children}</span>;
}

export function Spacer() {
    return <span class="spacer" />;
}
