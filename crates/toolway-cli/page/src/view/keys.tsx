// Which keys does the page know?

import { Dialog } from '../part/dialog';
import { singleKeys } from '../state/settings';
import { Button } from '../part/button';

const KEYS: [string, string][] = [
    ['Ctrl K', 'commands and elements'],
    ['Ctrl Enter', 'run the tool'],
    ['Esc', 'cancel the running call; close what is open'],
    ['Enter', 'open what the list marks'],
];

const LETTERS: [string, string][] = [
    ['/', 'search'],
    ['j k', 'down and up in the list'],
    ['r', 'repeat the call'],
    ['b', 'run on both eras'],
    ['x', 'cut the connection'],
    ['y', 'copy the call as …'],
    ['1 – 6', 'Frames, Timeline, Latency, Log, Stderr, Notifications'],
    ['?', 'this list'],
];

export function KeysDialog({ close }: { close: () => void }) {
    return (
        <Dialog label="Keys" testid="keys" close={close} class="keys">
            <h2>Keys</h2>
            <KeyTable keys={KEYS} />
            <h3>Single letters</h3>
            <KeyTable keys={LETTERS} />
            <label class="check-label">
                <input type="checkbox" checked={singleKeys.value} data-testid="single-keys" onChange={(event) => (singleKeys.value = event.currentTarget.checked)} /> single letters are keys
            </label>
            <Button testid="close-keys" onClick={close}>
                Close
            </Button>
        </Dialog>
    );
}

function KeyTable({ keys }: { keys: [string, string][] }) {
    return (
        <dl class="key-table">
            {keys.map(([key, meaning]) => (
                <div key={key}>
                    <dt>
                        {key.split(' ').map((part) => (
                            <kbd key={part}>{part}</kbd>
                        ))}
                    </dt>
                    <dd>{meaning}</dd>
                </div>
            ))}
        </dl>
    );
}
