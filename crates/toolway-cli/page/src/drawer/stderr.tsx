// What did the server's process write on stderr?

import { computed } from '@preact/signals';
import { Empty } from '../part/empty';
import { withMarks } from '../part/visible';
import { Windowed } from '../part/window';
import { shownLog } from '../state/frames';
import { server, timeOf } from '../state/servers';

const lines = computed(() => {
    void shownLog.value.version.value;
    return shownLog.value.frames.filter((frame) => frame.dir === 'err');
});

export function StderrTab() {
    const all = lines.value;
    if (all.length === 0) {
        const over = server.value?.over;
        return <Empty title="Nothing on stderr">{over === 'http' ? 'A server over HTTP has its own terminal or log.' : 'The process has written nothing there.'}</Empty>;
    }
    return (
        <Windowed
            class="line-table"
            role="log"
            aria-label="Stderr"
            tabIndex={0}
            data-testid="stderr"
            count={all.length}
            rowHeight={22}
            stick
            row={(index) => {
                const frame = all[index]!;
                return (
                    <div key={frame.n} class="line" data-testid="stderr-line">
                        <span class="frame-time">{timeOf(frame.t_ms)}</span>
                        <span class="line-text">{withMarks((frame.raw ?? frame.frame ?? '').slice(0, 2000))}</span>
                    </div>
                );
            }}
        />
    );
}
