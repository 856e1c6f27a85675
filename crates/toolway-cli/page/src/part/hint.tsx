// What may help after a failure, and how is a command in it copied?

import { Copy } from './copy';
import { withMarks } from './visible';

export function Hint({ text, testid }: { text: string; testid: string }) {
    const command = /`(toolway [^`]+)`/.exec(text)?.[1];
    return (
        <p class="hint" data-testid={testid}>
            {withMarks(text)} {command && <Copy text={command} label="Copy the command" />}
        </p>
    );
}
