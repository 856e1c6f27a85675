// How does a button open a short list of actions?

import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Muted } from './button';

export interface MenuItem {
    id: string;
    label: string;
    detail?: string;
    act: () => void;
}

interface Props {
    label: ComponentChildren;
    name?: string;
    items: MenuItem[];
    testid: string;
    disabled?: boolean;
    class?: string;
    /** More controls below the actions. */
    children?: ComponentChildren;
}

export function Menu({ label, name, items, testid, disabled, class: style, children }: Props) {
    const [open, setOpen] = useState(false);
    const box = useRef<HTMLDivElement>(null);
    const button = useRef<HTMLButtonElement>(null);
    const id = useId();

    useLayoutEffect(() => {
        if (!open) return undefined;
        box.current?.querySelector<HTMLElement>('[role="menuitem"]')?.focus();
        const outside = (event: Event) => {
            if (!box.current?.contains(event.target as Node)) setOpen(false);
        };
        document.addEventListener('pointerdown', outside);
        return () => document.removeEventListener('pointerdown', outside);
    }, [open]);

    const close = () => {
        setOpen(false);
        button.current?.focus();
    };
    const keys = (event: KeyboardEvent) => {
        if (event.key === 'Escape') {
            event.preventDefault();
            event.stopPropagation();
            close();
            return;
        }
        const all = [...(box.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
        const at = all.indexOf(document.activeElement as HTMLElement);
        const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
        if (next === undefined || at < 0) return;
        event.preventDefault();
        all[(next + all.length) % all.length]?.focus();
    };
    const leave = (event: FocusEvent) => {
        if (event.relatedTarget && !box.current?.contains(event.relatedTarget as Node)) setOpen(false);
    };
    return (
        <div class="menu" ref={box} onKeyDown={open ? keys : undefined} onFocusOut={leave}>
            <button
                type="button"
                ref={button}
                class={style}
                disabled={disabled}
                aria-haspopup="menu"
                aria-expanded={open}
                aria-controls={open ? id : undefined}
                aria-label={name}
                data-testid={testid}
                onClick={() => setOpen(!open)}
            >
                {label} <span aria-hidden="true" class="caret" />
            </button>
            {open && (
                <div class="menu-box">
                    <div role="menu" id={id} aria-label={name ?? String(label)} class="menu-items">
                        {items.map((item) => (
                            <button
                                type="button"
                                role="menuitem"
                                key={item.id}
                                tabIndex={-1}
                                data-testid={`${testid}-${item.id}`}
                                onClick={() => {
                                    close();
                                    item.act();
                                }}
                            >
                                {item.label}
                                {item.detail && <Muted>{item.detail}</Muted>}
                            </button>
                        ))}
                    </div>
                    {children}
                </div>
            )}
        </div>
    );
}
