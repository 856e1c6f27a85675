// How does the server suggest values while the reader types?

import { useEffect, useId, useState } from 'preact/hooks';
import type { Server } from '../api/types';
import { withMarks } from '../part/visible';
import { callAndWait } from '../state/calls';
import { Unseen } from '../part/button';

interface Props {
    server: Server;
    of: { prompt: string } | { template: string };
    name: string;
    about?: string | null;
    required: boolean;
    value: string;
    /** The other values, which a server may take into account. */
    others: Record<string, string>;
    change: (value: string) => void;
}

const DELAY_MS = 150;
const MOST = 100;

export function Completed({ server, of, name, about, required, value, others, change }: Props) {
    const id = useId();
    const [values, setValues] = useState<string[]>([]);
    const [focused, setFocused] = useState(false);
    const [active, setActive] = useState(-1);
    const canComplete = server.connection.state === 'ready' && (server.capabilities ?? '').includes('"completions"');

    useEffect(() => {
        if (!focused || !canComplete) return undefined;
        let isNewest = true;
        const timer = setTimeout(() => {
            const { [name]: _own, ...context } = others;
            callAndWait({ server: server.id, kind: 'complete', ...('prompt' in of ? { name: of.prompt } : { name: '', template: of.template }), argument: name, typed: value, arguments: JSON.stringify(context) }).then(
                (call) => isNewest && setValues(suggestions(call.result)),
                () => isNewest && setValues([]),
            );
        }, DELAY_MS);
        return () => {
            isNewest = false;
            clearTimeout(timer);
        };
    }, [value, focused, canComplete]);

    const open = focused && values.length > 0 && !(values.length === 1 && values[0] === value);
    const choose = (chosen: string) => {
        change(chosen);
        setActive(-1);
        setValues([]);
    };
    const keys = (event: KeyboardEvent) => {
        if (!open) return;
        if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
            event.preventDefault();
            const step = event.key === 'ArrowDown' ? 1 : -1;
            setActive((active + step + values.length) % values.length);
        } else if (event.key === 'Enter' && active >= 0) {
            event.preventDefault();
            choose(values[active]!);
        } else if (event.key === 'Escape') {
            event.stopPropagation();
            setValues([]);
        }
    };
    return (
        <div class="field completed">
            <label for={id}>
                {withMarks(name)}
                {required && (
                    <span class="required">
                        <span aria-hidden="true">*</span>
                        <Unseen> required</Unseen>
                    </span>
                )}
            </label>
            <input
                id={id}
                type="text"
                role="combobox"
                aria-expanded={open}
                aria-controls={`${id}-list`}
                aria-autocomplete="list"
                aria-activedescendant={open && active >= 0 ? `${id}-${active}` : undefined}
                aria-required={required}
                aria-describedby={about ? `${id}-about` : undefined}
                autocomplete="off"
                spellcheck={false}
                value={value}
                data-testid={`argument-${name}`}
                onInput={(event) => change(event.currentTarget.value)}
                onFocus={() => setFocused(true)}
                onBlur={() => setFocused(false)}
                onKeyDown={keys}
            />
            <div class="suggestions" hidden={!open} id={`${id}-list`} role="listbox" aria-label={`Suggestions for ${name}`} data-testid={`suggestions-${name}`}>
                {open &&
                    values.slice(0, MOST).map((suggestion, index) => (
                        <div
                            key={suggestion}
                            id={`${id}-${index}`}
                            role="option"
                            aria-selected={index === active}
                            data-testid={`suggestion-${index}`}
                            onPointerDown={(event) => {
                                event.preventDefault();
                                choose(suggestion);
                            }}
                        >
                            {withMarks(suggestion)}
                        </div>
                    ))}
            </div>
            {about && (
                <p class="field-about" id={`${id}-about`}>
                    {withMarks(about)}
                </p>
            )}
        </div>
    );
}

/** The values of a completion's result; any other result gives none. */
function suggestions(result: string | null): string[] {
    try {
        const values = JSON.parse(result ?? 'null')?.completion?.values;
        return Array.isArray(values) ? values.filter((value): value is string => typeof value === 'string') : [];
    } catch {
        return [];
    }
}
