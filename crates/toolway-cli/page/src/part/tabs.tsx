// How does the reader choose between views of one thing?

import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

export interface Tab<T extends string> {
    id: T;
    label: string;
    badge?: string | number | null;
}

interface Props<T extends string> {
    tabs: Tab<T>[];
    chosen: T;
    choose: (tab: T) => void;
    label: string;
    testid: string;
    /** Stands beside the tabs, at the end of their row. */
    aside?: ComponentChildren;
    class?: string;
    children: ComponentChildren;
}

export function Tabs<T extends string>({ tabs, chosen, choose, label, testid, aside, class: name, children }: Props<T>) {
    const id = useId();
    const move = (event: KeyboardEvent) => {
        const at = tabs.findIndex((tab) => tab.id === chosen);
        const step = { ArrowRight: 1, ArrowLeft: -1, Home: -at, End: tabs.length - 1 - at }[event.key];
        if (step === undefined) return;
        event.preventDefault();
        const next = tabs[(at + step + tabs.length) % tabs.length];
        if (!next) return;
        choose(next.id);
        (event.currentTarget as HTMLElement).querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
    };
    return (
        <div class={`tabs ${name ?? ''}`} data-testid={testid} data-state={chosen}>
            <div class="tab-row">
                <div role="tablist" aria-label={label} class="tab-list" onKeyDown={move}>
                    {tabs.map((tab) => (
                        <button
                            type="button"
                            role="tab"
                            id={`${id}-${tab.id}`}
                            key={tab.id}
                            data-tab={tab.id}
                            data-testid={`${testid}-${tab.id}`}
                            aria-selected={tab.id === chosen}
                            aria-controls={`${id}-panel`}
                            tabIndex={tab.id === chosen ? 0 : -1}
                            onClick={() => choose(tab.id)}
                        >
                            {tab.label}
                            {tab.badge !== undefined && tab.badge !== null && tab.badge !== 0 && <span class="badge">{tab.badge}</span>}
                        </button>
                    ))}
                </div>
                {aside}
            </div>
            <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${chosen}`} class="tab-panel">
                {children}
            </div>
        </div>
    );
}
