// How does a view ask for what it shows, and what stands there until it comes?

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { words } from '../api/request';
import { withMarks } from '../part/visible';

/** Asks again when `about` changes; only the newest answer counts. */
export function useAnswer<T>(ask: () => Promise<T>, about: unknown[]): { answer: T | null; problem: string | null; again: () => void } {
    const [got, setGot] = useState<{ answer: T | null; problem: string | null }>({ answer: null, problem: null });
    const [turn, setTurn] = useState(0);
    useEffect(() => {
        let isNewest = true;
        setGot((old) => ({ answer: old.answer, problem: null }));
        ask().then(
            (answer) => isNewest && setGot({ answer, problem: null }),
            (problem: unknown) => isNewest && setGot({ answer: null, problem: words(problem) }),
        );
        return () => {
            isNewest = false;
        };
    }, [...about, turn]);
    return { ...got, again: () => setTurn(turn + 1) };
}

export function Loading({ what, problem, children }: { what: string; problem: string | null; children?: ComponentChildren }) {
    if (problem !== null) {
        return (
            <div class="failure" role="alert" data-testid="view-error">
                <p>{withMarks(problem)}</p>
                {children}
            </div>
        );
    }
    return (
        <p class="quiet-note" role="status">
            Reading {what} …
        </p>
    );
}
