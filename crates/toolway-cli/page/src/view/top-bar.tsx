// Which server is shown, how is its connection, and what can be done with it?

import { useState } from 'preact/hooks';
import { post, words } from '../api/request';
import type { Server } from '../api/types';
import { Menu } from '../part/menu';
import { withMarks } from '../part/visible';
import { count, duration } from '../state/clock';
import { notify } from '../state/notices';
import { currentId, server as shownServer, servers, tokenCount } from '../state/servers';
import { select, selection } from '../state/selection';
import { theme, type Theme } from '../state/settings';
import { openDialog } from './dialogs';
import { Button, Muted, QuietButton, Spacer, Unseen } from '../part/button';

export function TopBar() {
    const server = shownServer.value;
    return (
        <header class="top">
            <Button class="brand" testid="show-server" title="Show the server" onClick={() => select({ kind: 'server' })}>
                <span class="brand-name" data-testid="server-name">{withMarks(server?.info?.name ?? server?.name ?? 'Toolway inspector')}</span>
                {server?.info && <span class="brand-version">{withMarks(server.info.version)}</span>}
            </Button>
            {servers.value.length > 1 && <ServerChooser />}
            {server && <ConnectionState server={server} />}
            <Spacer />
            {server && <ConnectionControls server={server} />}
            {server && server.tools.length > 0 && (
                <span class="tokens muted" data-testid="token-cost" title="tokens that all tools cost in each request to a model">
                    ~{count(tokenCount(server.tokens))} tokens
                </span>
            )}
            <QuietButton testid="open-palette" aria-keyshortcuts="Control+K" onClick={() => openDialog('palette')}>
                <kbd>Ctrl K</kbd>
                <Unseen> Commands</Unseen>
            </QuietButton>
            <ThemeChooser />
        </header>
    );
}

function ServerChooser() {
    return (
        <select
            aria-label="Server"
            class="server-chooser"
            data-testid="server-chooser"
            value={String(currentId.value)}
            onChange={(event) => {
                currentId.value = Number(event.currentTarget.value);
                if ('name' in selection.value) select({ kind: 'server' });
            }}
        >
            {servers.value.map((server) => (
                <option key={server.id} value={String(server.id)}>
                    {server.name}
                    {server.over === 'recording' && ' (recording)'}
                </option>
            ))}
        </select>
    );
}

function ConnectionState({ server }: { server: Server }) {
    const { state, took_ms } = server.connection;
    return (
        <span class="connection" role="status" data-testid="connection" data-state={state}>
            <span class="transport">{server.over === 'pipe' ? 'stdio' : server.over}</span>
            <span class={`dot dot-${server.over === 'recording' ? 'recording' : state}`} aria-hidden="true" />
            {server.over === 'recording' ? 'read only' : state}
            {state === 'ready' && took_ms !== null && <Muted> {duration(took_ms)}</Muted>}
        </span>
    );
}

function ConnectionControls({ server }: { server: Server }) {
    const [after, setAfter] = useState('37');
    const act = (path: string, body: object) => void post(path, { server: server.id, ...body }).catch((problem) => notify(words(problem)));
    const events = Number(after);
    const isNumber = Number.isInteger(events) && events > 0;
    return (
        <>
            {server.revisions.length > 0 && server.over !== 'recording' && (
                <label class="inline-field">
                    <span class="wide-only">revision</span>
                    <select
                        aria-label="Revision"
                        data-testid="revision"
                        value={server.wanted ?? ''}
                        onChange={(event) => act('/api/revision', { revision: event.currentTarget.value || null })}
                    >
                        <option value="">{server.revision ? `${server.revision} (agreed)` : 'newest'}</option>
                        {server.revisions.map((revision) => (
                            <option key={revision} value={revision}>
                                {revision}
                            </option>
                        ))}
                    </select>
                </label>
            )}
            {server.can.cut && (
                <Menu
                    label="Cut"
                    name="Cut the connection"
                    testid="cut"
                    items={[
                        { id: 'now', label: 'Cut now', detail: 'x', act: () => cutNow(server) },
                        ...(isNumber ? [{ id: 'after', label: `Cut after ${events} events`, act: () => act('/api/cut', { after_events: events }) }] : []),
                    ]}
                >
                    <label class="menu-field">
                        events before the cut
                        <input class="narrow" inputMode="numeric" value={after} data-testid="cut-events" aria-invalid={!isNumber} onInput={(event) => setAfter(event.currentTarget.value)} />
                    </label>
                </Menu>
            )}
            {server.can.restart && (
                <Button testid="restart" onClick={() => act('/api/restart', {})}>
                    Restart
                </Button>
            )}
        </>
    );
}

export function cutNow(server: Server): void {
    post('/api/cut', { server: server.id, after_events: null }).catch((problem) => notify(words(problem)));
}

const THEMES: { id: Theme; label: string }[] = [
    { id: 'system', label: 'As the system' },
    { id: 'light', label: 'Light' },
    { id: 'dark', label: 'Dark' },
];

function ThemeChooser() {
    return (
        <Menu
            label={<span class="theme-mark" aria-hidden="true" />}
            name="Theme"
            testid="theme"
            class="quiet"
            items={THEMES.map((choice) => ({ ...choice, detail: theme.value === choice.id ? 'chosen' : undefined, act: () => (theme.value = choice.id) }))}
        />
    );
}
