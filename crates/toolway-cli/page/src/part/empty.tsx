// What stands where there is nothing yet?

import type { ComponentChildren } from 'preact';

export function Empty({ title, children, testid }: { title: string; children?: ComponentChildren; testid?: string }) {
    return (
        <div class="empty" data-testid={testid ?? 'empty'}>
            <p class="empty-title">{title}</p>
            {children && <div class="empty-next">{children}</div>}
        </div>
    );
}
