// How is every command and element found by a few letters?

import { useMemo, useState } from 'preact/hooks';
import { post, words } from '../api/request';
import { EXPORTS, exportShown, runBoth } from '../call/actions';
import { Dialog } from '../part/dialog';
import { withMarks } from '../part/visible';
import { notify } from '../state/notices';
import { DRAWER_TABS, drawerTab, elementKey, found, select, toolTab, type ElementKind, type ToolTab } from '../state/selection';
import { currentId, mode, server, servers } from '../state/servers';
import { drawerOpen, singleKeys, theme, type Theme } from '../state/settings';
import { DRAWER_LABELS } from '../drawer/drawer';
import { openDialog } from './dialogs';
import { repeatShown, runSelected } from './shortcuts';
import { cutNow } from './top-bar';

interface Command {
    id: string;
    label: string;
    kind: string;
    key?: string;
    act: () => void;
}

const MOST = 60;

export function Palette({ close }: { close: () => void }) {
    const [text, setText] = useState('');
    const [active, setActive] = useState(0);
    const all = useMemo(commands, []);
    const parts = text.toLowerCase().split(/\s+/).filter(Boolean);
    const matching = all.filter((command) => {
        const words = `${command.kind} ${command.label}`.toLowerCase();
        return parts.every((part) => words.includes(part));
    });
    const shown = matching.slice(0, MOST);
    const choose = (command: Command | undefined) => {
        if (!command) return;
        close();
        // After the dialog has given the focus back.
        queueMicrotask(command.act);
    };
    const keys = (event: KeyboardEvent) => {
        if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
            event.preventDefault();
            const step = event.key === 'ArrowDown' ? 1 : -1;
            const next = (active + step + shown.length) % Math.max(1, shown.length);
            setActive(next);
            document.getElementById(`command-${next}`)?.scrollIntoView({ block: 'nearest' });
        } else if (event.key === 'Enter') {
            event.preventDefault();
            choose(shown[active]);
        }
    };
    return (
        <Dialog label="Commands" testid="palette" close={close} class="palette">
            <input
                type="text"
                role="combobox"
                aria-label="Command or element"
                aria-expanded="true"
                aria-controls="commands"
                aria-activedescendant={shown.length > 0 ? `command-${active}` : undefined}
                placeholder="A command, a tool, a prompt …"
                autocomplete="off"
                spellcheck={false}
                autoFocus
                data-testid="palette-input"
                value={text}
                onInput={(event) => {
                    setText(event.currentTarget.value);
                    setActive(0);
                }}
                onKeyDown={keys}
            />
            <div role="listbox" id="commands" aria-label="Commands and elements" class="commands">
                {shown.map((command, index) => (
                    <div key={command.id} id={`command-${index}`} role="option" aria-selected={index === active} class="command" data-testid={`command-${command.id}`} onClick={() => choose(command)}>
                        <span class="command-kind">{command.kind}</span>
                        <span class="command-label">{withMarks(command.label)}</span>
                        {command.key && <kbd>{command.key}</kbd>}
                    </div>
                ))}
            </div>
            {shown.length === 0 && <p class="quiet-note">Nothing has these words.</p>}
            {matching.length > MOST && <p class="muted commands-more">{matching.length - MOST} more; type further letters</p>}
        </Dialog>
    );
}

function commands(): Command[] {
    const at = server.peek();
    const what = found.peek();
    const key = elementKey.peek();
    const all: Command[] = [];
    const add = (kind: string, id: string, label: string, act: () => void, letter?: string) => all.push({ kind, id, label, act, key: letter });
    const tell = (path: string, body: object) => void post(path, body).catch((problem) => notify(words(problem)));
    if (what?.kind === 'tool' && key && at?.can.call) {
        const { tool } = what;
        add('call', 'run', `Run ${tool.name}`, runSelected, 'Ctrl Enter');
        add('call', 'repeat', 'Repeat the call', repeatShown, 'r');
        add('call', 'both', `Run ${tool.name} on both eras`, () => void runBoth(key, at.id, tool), 'b');
        for (const as of EXPORTS) add('call', `copy-${as.id}`, `Copy the call as ${as.label}`, () => void exportShown(key, as.id));
        for (const tab of ['call', 'schema', 'models', 'history'] as ToolTab[]) {
            add('tool', `tab-${tab}`, `${tool.name}: ${tab === 'models' ? 'for models' : tab}`, () => (toolTab.value = tab));
        }
    }
    if (at?.can.cut) add('connection', 'cut', 'Cut the connection now', () => cutNow(at), 'x');
    if (at?.can.restart) add('connection', 'restart', 'Restart', () => tell('/api/restart', { server: at.id }));
    for (const revision of at?.over === 'recording' ? [] : (at?.revisions ?? [])) {
        add('connection', `revision-${revision}`, `Connect with revision ${revision}`, () => tell('/api/revision', { server: at!.id, revision }));
    }
    add('view', 'server', 'Server', () => select({ kind: 'server' }));
    add('view', 'doctor', 'Doctor', () => select({ kind: 'doctor' }));
    if (mode.peek() === 'hub') add('view', 'hub', 'Hub', () => select({ kind: 'hub' }));
    add('view', 'recordings', 'Recordings', () => select({ kind: 'recordings' }));
    DRAWER_TABS.forEach((tab, index) =>
        add('drawer', `drawer-${tab}`, DRAWER_LABELS[tab], () => {
            drawerOpen.value = true;
            drawerTab.value = tab;
        }, String(index + 1)),
    );
    add('drawer', 'drawer-toggle', 'Open or close the drawer', () => (drawerOpen.value = !drawerOpen.value));
    for (const choice of ['system', 'light', 'dark'] as Theme[]) add('theme', `theme-${choice}`, `Theme: ${choice}`, () => (theme.value = choice));
    add('help', 'keys', 'Keys', () => openDialog('keys'), '?');
    add('help', 'single-keys', `Switch single letters ${singleKeys.peek() ? 'off' : 'on'}`, () => (singleKeys.value = !singleKeys.value));
    if (servers.peek().length > 1) {
        for (const other of servers.peek()) {
            add('server', `server-${other.id}`, other.name, () => {
                currentId.value = other.id;
                select({ kind: 'server' });
            });
        }
    }
    const element = (kind: ElementKind, name: string, label: string) => add(kind, `${kind}-${name}`, label, () => select({ kind, name }));
    for (const tool of at?.tools ?? []) element('tool', tool.name, tool.name);
    for (const resource of at?.resources ?? []) element('resource', resource.uri, resource.name);
    for (const template of at?.templates ?? []) element('template', template.uri, template.name);
    for (const prompt of at?.prompts ?? []) element('prompt', prompt.name, prompt.name);
    return all;
}
