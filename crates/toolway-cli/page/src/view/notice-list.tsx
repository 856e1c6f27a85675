// How are news shown that the reader has to see at once?

import { useState } from 'preact/hooks';
import type { CatalogDiff } from '../api/types';
import { withMarks } from '../part/visible';
import { dismiss, notices, type Notice } from '../state/notices';
import { serverName, servers } from '../state/servers';
import { CatalogChanges, changesInWords } from './catalog-changes';
import { LinkButton, QuietButton } from '../part/button';

export function NoticeList() {
    return (
        <div class="notices" aria-live="polite" data-testid="notices">
            {notices.value.map((notice) => (
                <NoticeCard key={notice.id} notice={notice} />
            ))}
        </div>
    );
}

function NoticeCard({ notice }: { notice: Notice }) {
    const of = servers.value.length > 1 && notice.server !== null ? `${serverName(notice.server)}: ` : '';
    return (
        <div class={`notice ${'text' in notice && notice.tone === 'bad' ? 'notice-bad' : ''}`} data-testid="notice">
            {'text' in notice ? (
                <p>
                    {of}
                    {withMarks(notice.text)}
                </p>
            ) : (
                <CatalogNotice diff={notice.diff} of={of} />
            )}
            <QuietButton aria-label="Close the notice" testid="close-notice" onClick={() => dismiss(notice.id)}>
                ×
            </QuietButton>
        </div>
    );
}

function CatalogNotice({ diff, of }: { diff: CatalogDiff; of: string }) {
    const [open, setOpen] = useState(false);
    return (
        <div class="notice-catalog" data-testid="catalog-notice">
            <p>
                {of}The server's lists changed: {changesInWords(diff)}.{' '}
                <LinkButton aria-expanded={open} testid="catalog-details" onClick={() => setOpen(!open)}>
                    {open ? 'Hide the changes' : 'Show the changes'}
                </LinkButton>
            </p>
            {open && <CatalogChanges diff={diff} />}
        </div>
    );
}
