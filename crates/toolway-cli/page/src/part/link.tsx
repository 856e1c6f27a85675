// How is an address of a peer shown, and when may it be opened?
//
// Only http and https, in full, after a click, in a new tab that learns nothing about this one. Any other scheme is
// text.

import { withMarks } from './visible';
import { Unseen } from './button';

export function Link({ address, testid }: { address: string; testid?: string }) {
    if (!isWeb(address)) {
        return (
            <code class="address" data-testid={testid}>
                {withMarks(address)}
            </code>
        );
    }
    return (
        <a class="address" href={address} target="_blank" rel="noopener noreferrer" data-testid={testid}>
            {withMarks(address)}
            <Unseen> (opens in a new tab)</Unseen>
        </a>
    );
}

/** Decides by the parsed address, which is what the browser would open. */
export function isWeb(address: string): boolean {
    try {
        return /^https?:$/.test(new URL(address).protocol) && /^https?:\/\//i.test(address);
    } catch {
        return false;
    }
}
