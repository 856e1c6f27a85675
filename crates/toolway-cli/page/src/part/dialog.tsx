// How does a dialog above the page behave?
//
// The browser's own modal dialog holds the focus, ends with Esc and gives the focus back.

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

interface Props {
    label: string;
    testid: string;
    close: () => void;
    class?: string;
    children: ComponentChildren;
}

export function Dialog({ label, testid, close, class: name, children }: Props) {
    const dialog = useRef<HTMLDialogElement>(null);
    // Before the next key: it belongs to the dialog.
    useLayoutEffect(() => {
        const element = dialog.current!;
        element.showModal();
        return () => element.close();
    }, []);
    return (
        <dialog
            ref={dialog}
            aria-label={label}
            data-testid={testid}
            class={name}
            onKeyDown={(event) => {
                // At once: the browser's own event comes later, and could end the next dialog.
                if (event.key !== 'Escape') return;
                event.preventDefault();
                close();
            }}
            onClose={() => dialog.current && close()}
            onClick={(event) => {
                if (event.target === dialog.current) close();
            }}
        >
            {children}
        </dialog>
    );
}
