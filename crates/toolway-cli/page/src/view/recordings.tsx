// How is a session written to a file, and how is such a file opened?

import { useRef, useState } from 'preact/hooks';
import { postBytes, send, words } from '../api/request';
import { withMarks } from '../part/visible';
import { notify } from '../state/notices';
import { currentId, readState, recording, servers } from '../state/servers';
import { select } from '../state/selection';
import { LinkButton, Muted, QuietButton } from '../part/button';
import { Heading } from '../part/heading';

export function RecordingsView() {
    const picker = useRef<HTMLInputElement>(null);
    const [problem, setProblem] = useState<string | null>(null);
    const [busy, setBusy] = useState(false);
    const open = async (file: File | undefined) => {
        if (!file) return;
        setBusy(true);
        setProblem(null);
        try {
            const { server } = await postBytes<{ server: number }>('/api/cassette', file);
            await readState();
            currentId.value = server;
            select({ kind: 'server' });
        } catch (problem) {
            setProblem(`${file.name}: ${words(problem)}`);
        }
        setBusy(false);
        if (picker.current) picker.current.value = '';
    };
    return (
        <article
            class="element"
            data-testid="recordings"
            onDragOver={(event) => event.preventDefault()}
            onDrop={(event) => {
                event.preventDefault();
                void open(event.dataTransfer?.files[0]);
            }}
        >
            <Heading name="Recordings" />
            <p class="lead">
                A cassette holds every frame of a session, without secrets: one JSON object a line. Send it with a bug report, or open one here; nothing is started for it.
            </p>
            <div class="drop">
                <label class="file-picker">
                    <span>Open a cassette</span>
                    <input ref={picker} type="file" accept=".jsonl,.ndjson,application/jsonl" disabled={busy} data-testid="cassette-file" onChange={(event) => void open(event.currentTarget.files?.[0])} />
                </label>
                <Muted>or drop a file here, up to 4 MiB. A larger one, or one that grows: toolway inspect FILE --follow</Muted>
            </div>
            {problem !== null && (
                <p class="failure" role="alert" data-testid="cassette-error">
                    {withMarks(problem)}
                </p>
            )}
            {recording.value && (
                <p>
                    This inspector shows <code>{withMarks(recording.value.file)}</code>
                    {recording.value.following && ' and follows it as it grows'}.
                </p>
            )}
            <h2>Sessions of this inspector</h2>
            <table class="calls">
                <tbody>
                    {servers.value.map((server) => (
                        <tr key={server.id}>
                            <td>
                                <LinkButton
                                    testid={`recording-${server.id}`}
                                    onClick={() => {
                                        currentId.value = server.id;
                                        select({ kind: 'server' });
                                    }}
                                >
                                    {withMarks(server.name)}
                                </LinkButton>
                            </td>
                            <td class="muted">{server.over === 'recording' ? 'opened from a file' : 'live'}</td>
                            <td class="row-actions">
                                <QuietButton testid={`download-${server.id}`} onClick={() => void download(server.id, server.name)}>
                                    Download cassette
                                </QuietButton>
                            </td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </article>
    );
}

async function download(id: number, name: string): Promise<void> {
    try {
        const answer = await send(`/api/cassette?server=${id}`);
        const url = URL.createObjectURL(await answer.blob());
        const link = document.createElement('a');
        link.href = url;
        link.download = `${name.replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, 60) || 'session'}.jsonl`;
        link.click();
        setTimeout(() => URL.revokeObjectURL(url), 10_000);
    } catch (problem) {
        notify(words(problem));
    }
}
