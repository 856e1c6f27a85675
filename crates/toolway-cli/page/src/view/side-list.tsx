// What does the server offer, and how is one element found among 5,000?

import { Empty } from '../part/empty';
import { withMarks } from '../part/visible';
import { Windowed } from '../part/window';
import { count } from '../state/clock';
import { mode, server } from '../state/servers';
import { select, selection, type ViewKind } from '../state/selection';
import { active, isSelected, moveActive, open, openActive, rows, search, toggle, type Row } from './tree';
import { Button, Unseen } from '../part/button';

const ROW_HEIGHT = 28;

export function SideList() {
    const all = rows.value;
    const marked = Math.min(active.value, all.length - 1);
    return (
        <nav class="side" aria-label="Elements of the server" data-testid="side">
            <div class="search">
                <label for="search" class="visually-hidden">
                    Search tools, resources and prompts
                </label>
                <input
                    id="search"
                    type="search"
                    placeholder="Search"
                    autocomplete="off"
                    spellcheck={false}
                    data-testid="search"
                    value={search.value}
                    onInput={(event) => {
                        search.value = event.currentTarget.value;
                        active.value = rows.peek().findIndex((row) => row.type === 'element');
                    }}
                    onKeyDown={searchKeys}
                />
                <kbd aria-hidden="true">/</kbd>
            </div>
            {all.length === 0 ? (
                <NothingFound />
            ) : (
                <Windowed
                    class="tree"
                    role="tree"
                    aria-label="Tools, resources, templates and prompts"
                    tabIndex={0}
                    aria-activedescendant={marked >= 0 ? `row-${marked}` : undefined}
                    data-testid="tree"
                    count={all.length}
                    rowHeight={ROW_HEIGHT}
                    reveal={marked}
                    onFocus={() => (active.value = Math.max(0, active.value))}
                    onKeyDown={treeKeys}
                    row={(index) => <TreeRow key={index} row={all[index]!} index={index} marked={index === marked} />}
                />
            )}
            <ul class="views">
                <View kind="server" label="Server" />
                <View kind="doctor" label="Doctor" />
                {mode.value === 'hub' && <View kind="hub" label="Hub" />}
                <View kind="recordings" label="Recordings" />
            </ul>
        </nav>
    );
}

function View({ kind, label }: { kind: ViewKind; label: string }) {
    return (
        <li>
            <Button aria-current={selection.value.kind === kind ? 'page' : undefined} testid={`view-${kind}`} onClick={() => select({ kind })}>
                {label}
            </Button>
        </li>
    );
}

function NothingFound() {
    if (search.value !== '') {
        return (
            <Empty title="Nothing has these words" testid="nothing-found">
                <Button onClick={() => (search.value = '')}>
                    Clear the search
                </Button>
            </Empty>
        );
    }
    return <Empty title={server.value?.connection.state === 'connecting' ? 'Connecting …' : 'No elements yet'} />;
}

function searchKeys(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'ArrowDown') moveActive(1);
    else if (event.key === 'ArrowUp') moveActive(-1);
    else if (event.key === 'Enter') openActive();
    else if (event.key === 'Escape' && search.value !== '') search.value = '';
    else return;
    event.preventDefault();
}

function treeKeys(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rows.peek()[active.peek()];
    switch (event.key) {
        case 'ArrowDown':
            moveActive(1);
            break;
        case 'ArrowUp':
            moveActive(-1);
            break;
        case 'PageDown':
            moveActive(15);
            break;
        case 'PageUp':
            moveActive(-15);
            break;
        case 'Home':
            moveActive(-rows.peek().length);
            break;
        case 'End':
            moveActive(rows.peek().length);
            break;
        case 'ArrowRight':
            if (row?.type === 'group' && !row.open) toggle(row.id);
            break;
        case 'ArrowLeft':
            if (row?.type === 'group' && row.open) toggle(row.id);
            break;
        case 'Enter':
        case ' ':
            openActive();
            break;
        default:
            return;
    }
    event.preventDefault();
}

function TreeRow({ row, index, marked }: { row: Row; index: number; marked: boolean }) {
    const press = () => {
        active.value = index;
        open(row);
    };
    if (row.type === 'group') {
        return (
            <div id={`row-${index}`} role="treeitem" aria-level={1} aria-expanded={row.open} aria-selected={false} class={`row group ${marked ? 'marked' : ''}`} data-testid={`group-${row.id}`} onClick={press}>
                <span class="twist" aria-hidden="true" />
                <span class="row-label">{row.label}</span>
                <span class="row-count">{row.count === row.total ? count(row.total) : `${count(row.count)} of ${count(row.total)}`}</span>
                {row.problem && <span class="row-mark mark-bad" title={row.problem}>!</span>}
                {row.tokens > 0 && <span class="row-tokens">~{count(row.tokens)}</span>}
            </div>
        );
    }
    const selected = isSelected(row);
    return (
        <div
            id={`row-${index}`}
            role="treeitem"
            aria-level={2}
            aria-setsize={row.of}
            aria-posinset={row.place}
            aria-selected={selected}
            class={`row ${marked ? 'marked' : ''} ${selected ? 'selected' : ''}`}
            data-testid={`${row.kind}-${row.label}`}
            onClick={press}
        >
            <span class="row-label">{withMarks(row.label)}</span>
            {row.marks.includes('destructive') && <span class="row-mark mark-bad" title="destructive, says the server">!<Unseen> destructive</Unseen></span>}
            {row.marks.includes('hidden') && <span class="row-mark mark-warn" title="has hidden characters">◌<Unseen> hidden characters</Unseen></span>}
            {row.tokens > 0 && <span class="row-tokens">{count(row.tokens)}</span>}
        </div>
    );
}
