// Which dialog is open above the page?

import { signal } from '@preact/signals';
import { KeysDialog } from './keys';
import { Palette } from './palette';

export const dialog = signal<'palette' | 'keys' | null>(null);

export function openDialog(which: 'palette' | 'keys'): void {
    dialog.value = which;
}

export function Dialogs() {
    const close = () => (dialog.value = null);
    if (dialog.value === 'palette') return <Palette close={close} />;
    if (dialog.value === 'keys') return <KeysDialog close={close} />;
    return null;
}
