// What did the server tell on its own, and what happened to the connection?

import { useState } from 'preact/hooks';
import { Empty } from '../part/empty';
import { withMarks } from '../part/visible';
import { Windowed } from '../part/window';
import { timeOfDay } from '../state/clock';
import { news, type News } from '../state/news';
import { currentId } from '../state/servers';
import { CatalogChanges, changesInWords } from '../view/catalog-changes';
import { LinkButton } from '../part/button';

export function NewsTab() {
    const [opened, setOpened] = useState<number | null>(null);
    const all = news.value.filter((item) => item.server === null || item.server === currentId.value);
    if (all.length === 0) return <Empty title="No notifications yet">List changes, updates of watched resources and changes of the connection are told here.</Empty>;
    const shown = all.find((item) => item.n === opened && item.diff);
    return (
        <div class={shown ? 'frame-panes with-detail' : 'frame-panes'}>
            <Windowed
                class="line-table"
                role="log"
                aria-label="Notifications"
                tabIndex={0}
                data-testid="news"
                count={all.length}
                rowHeight={26}
                stick
                row={(index) => <NewsLine key={`${all[index]!.n}-${index}`} item={all[index]!} open={() => setOpened(opened === all[index]!.n ? null : all[index]!.n)} opened={opened} />}
            />
            {shown && (
                <div class="frame-detail">
                    <CatalogChanges diff={shown.diff!} />
                </div>
            )}
        </div>
    );
}

function NewsLine({ item, open, opened }: { item: News; open: () => void; opened: number | null }) {
    return (
        <div class="line" data-testid="news-line" data-kind={item.kind}>
            <span class="frame-time">{timeOfDay(item.t_ms)}</span>
            <span class="level">{item.kind}</span>
            <span class="line-text">
                {item.diff ? changesInWords(item.diff) : withMarks(item.text)}
                {item.diff && (
                    <LinkButton aria-expanded={opened === item.n} onClick={open}>
                        {' '}
                        changes
                    </LinkButton>
                )}
            </span>
        </div>
    );
}
