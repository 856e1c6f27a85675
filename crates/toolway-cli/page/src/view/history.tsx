// Which calls of a tool were made or saved, and what can be done with them?

import type { CallSummary, Server, Tool } from '../api/types';
import { EXPORTS, edit, exportCall, repeat } from '../call/actions';
import { Empty } from '../part/empty';
import { Menu } from '../part/menu';
import { withMarks } from '../part/visible';
import { newestFirst, shown } from '../state/calls';
import { duration, size, timeOfDay } from '../state/clock';
import { changeDraft, checkSoon } from '../state/drafts';
import { forgetSaved, savedCalls } from '../state/saved';
import { toolTab } from '../state/selection';
import { Button, Muted, QuietButton } from '../part/button';
import { TableHead } from '../part/table';

const MOST = 40;

export function HistoryTab({ server, tool, elementKey }: { server: Server; tool: Tool; elementKey: string }) {
    const calls = newestFirst.value.filter((call) => call.server === server.id && call.kind === 'tool' && call.name === tool.name);
    const saved = savedCalls.value.filter((call) => call.server === server.name && call.tool === tool.name);
    if (calls.length === 0 && saved.length === 0) {
        return (
            <Empty title="No calls yet" testid="history-empty">
                <Button onClick={() => (toolTab.value = 'call')}>
                    Call it
                </Button>
            </Empty>
        );
    }
    const open = (call: CallSummary) => {
        shown.value = { ...shown.value, [elementKey]: { call: call.id } };
        toolTab.value = 'call';
    };
    const use = (text: string) => {
        changeDraft(elementKey, { mode: 'json', text }, tool);
        checkSoon(elementKey, server.id, tool);
        toolTab.value = 'call';
    };
    return (
        <div class="stack" data-testid="history">
            {saved.length > 0 && (
                <>
                    <h2>Saved in this tab</h2>
                    <table class="calls" data-testid="saved-calls">
                        <tbody>
                            {saved.map((call) => (
                                <tr key={call.id} data-testid={`saved-${call.id}`}>
                                    <td class="wide">
                                        <code>{withMarks(call.arguments.replace(/\s+/g, ' ').slice(0, 200))}</code>
                                    </td>
                                    <td class="row-actions">
                                        <QuietButton testid={`saved-${call.id}-use`} onClick={() => use(call.arguments)}>
                                            Use
                                        </QuietButton>
                                        <QuietButton testid={`saved-${call.id}-forget`} onClick={() => forgetSaved(call.id)}>
                                            Forget
                                        </QuietButton>
                                    </td>
                                </tr>
                            ))}
                        </tbody>
                    </table>
                </>
            )}
            {calls.length > 0 && (
                <>
                    <h2>Made</h2>
                    <table class="calls" data-testid="made-calls">
                        <TableHead columns={['call', 'at', 'result', 'took:', 'size:', 'actions']} />
                        <tbody>
                            {calls.slice(0, MOST).map((call) => (
                                <tr key={call.id} data-testid={`history-${call.id}`} data-state={call.state}>
                                    <td>#{call.id}</td>
                                    <td class="mono">{timeOfDay(call.began_ms)}</td>
                                    <td>
                                        <span class={`state state-${call.state}`}>{call.state.replace('_', ' ')}</span>
                                        {call.both !== null && <Muted> both eras</Muted>}
                                    </td>
                                    <td class="number">{call.took_ms === null ? '' : duration(call.took_ms)}</td>
                                    <td class="number">{size(call.bytes)}</td>
                                    <td class="row-actions">
                                        <QuietButton testid={`history-${call.id}-open`} onClick={() => open(call)}>
                                            Open
                                        </QuietButton>
                                        <QuietButton
                                            testid={`history-${call.id}-edit`}
                                            onClick={() => {
                                                void edit(elementKey, call, tool);
                                                toolTab.value = 'call';
                                            }}
                                        >
                                            Edit
                                        </QuietButton>
                                        <QuietButton
                                            testid={`history-${call.id}-repeat`}
                                            onClick={() => {
                                                void repeat(elementKey, call);
                                                toolTab.value = 'call';
                                            }}
                                        >
                                            Repeat
                                        </QuietButton>
                                        <Menu
                                            label="Copy as"
                                            name={`Copy as, call ${call.id}`}
                                            class="quiet"
                                            testid={`history-${call.id}-copy`}
                                            items={EXPORTS.map((kind) => ({ ...kind, act: () => void exportCall(call.id, kind.id) }))}
                                        />
                                    </td>
                                </tr>
                            ))}
                        </tbody>
                    </table>
                    {calls.length > MOST && <p class="muted">{calls.length - MOST} earlier calls are not listed.</p>}
                </>
            )}
        </div>
    );
}
