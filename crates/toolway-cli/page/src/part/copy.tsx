// How is a text put on the clipboard, and how does the reader learn that it is there?

import { useState } from 'preact/hooks';
import { notify } from '../state/notices';
import { Button } from './button';

/** Writes to the clipboard; a refusal of the browser becomes a notice. */
export async function copyText(text: string): Promise<boolean> {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        notify('the browser did not allow writing to the clipboard; select the text and copy it');
        return false;
    }
}

export function Copy({ text, label }: { text: string; label: string }) {
    const [done, setDone] = useState(false);
    const press = async () => setDone(await copyText(text));
    return (
        <Button class="copy" aria-label={done ? 'Copied' : label} title={label} onClick={press} onBlur={() => setDone(false)}>
            {done ? 'Copied' : 'Copy'}
        </Button>
    );
}
