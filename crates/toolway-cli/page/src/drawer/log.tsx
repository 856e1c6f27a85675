// Which log messages did the server send, and from which level on should it send them?

import { signal } from '@preact/signals';
import { post, words } from '../api/request';
import { Empty } from '../part/empty';
import { withMarks } from '../part/visible';
import { Windowed } from '../part/window';
import { timeOfDay } from '../state/clock';
import { log } from '../state/news';
import { notify } from '../state/notices';
import { currentId, server } from '../state/servers';
import { Muted } from '../part/button';

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
const chosenLevel = signal('');

export function LogTab() {
    const lines = log.value.filter((line) => line.server === currentId.value);
    const choose = (level: string) => {
        chosenLevel.value = level;
        post('/api/log_level', { server: currentId.value, level }).catch((problem) => notify(words(problem)));
    };
    return (
        <div class="rows">
            <div class="drawer-bar">
                {server.value?.can.call && (
                    <label class="inline-field">
                        ask for
                        <select data-testid="log-level" value={chosenLevel.value} onChange={(event) => choose(event.currentTarget.value)}>
                            <option value="" disabled>
                                a level
                            </option>
                            {LEVELS.map((level) => (
                                <option key={level} value={level}>
                                    {level} and above
                                </option>
                            ))}
                        </select>
                    </label>
                )}
            </div>
            {lines.length === 0 ? (
                <Empty title="No log messages yet">Ask the server for a level above. Many servers write to stderr instead.</Empty>
            ) : (
                <Windowed
                    class="line-table"
                    role="log"
                    aria-label="Log"
                    tabIndex={0}
                    data-testid="log"
                    count={lines.length}
                    rowHeight={24}
                    stick
                    row={(index) => {
                        const line = lines[index]!;
                        return (
                            <div key={line.n} class="line" data-testid="log-line">
                                <span class="frame-time">{timeOfDay(line.t_ms)}</span>
                                <span class={`level level-${line.level}`}>{line.level}</span>
                                <Muted>{line.logger && withMarks(line.logger)}</Muted>
                                <span class="line-text">{withMarks(line.data.slice(0, 1000))}</span>
                            </div>
                        );
                    }}
                />
            )}
        </div>
    );
}
