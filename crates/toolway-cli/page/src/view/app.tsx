// How is the page divided, and what does it show when there is no inspector to ask?

import { Drawer } from '../drawer/drawer';
import { page, type PageState } from '../state/page';
import { Dialogs } from './dialogs';
import { ElementPane } from './element-pane';
import { NoticeList } from './notice-list';
import { SideList } from './side-list';
import { TopBar } from './top-bar';
import { Button } from '../part/button';

export function App() {
    const { value } = page;
    if (value.state === 'loading') {
        return (
            <main class="whole">
                <p class="muted" role="status">Opening the inspector …</p>
            </main>
        );
    }
    if (value.state === 'ended') return <Ended why={value.why} message={value.message} />;
    return (
        <div class="layout">
            <a class="skip" href="#pane" onClick={skip}>
                Skip to the element
            </a>
            <TopBar />
            <SideList />
            <div class="content">
                <NoticeList />
                <ElementPane />
                <Drawer />
            </div>
            <Dialogs />
        </div>
    );
}

/** The address stays clean: its fragment is where links of the terminal put their code. */
function skip(event: Event): void {
    event.preventDefault();
    document.getElementById('pane')?.focus();
}

type Why = Extract<PageState, { state: 'ended' }>['why'];

const ENDED: Record<Why, { title: string; next: string }> = {
    token: { title: 'This inspector has ended', next: 'Use the link that the terminal shows now. Each start of the inspector prints a new one.' },
    link: { title: 'This link does not work any more', next: 'A link works once, within a minute. Press Enter in the terminal where the inspector runs: it prints a new one.' },
    'no-link': { title: 'Open the link from the terminal', next: 'The inspector prints a link that works once. Press Enter in its terminal for a new one.' },
    gone: { title: 'The inspector does not answer', next: 'It has probably ended. Start it again in the terminal and use the link that it prints.' },
};

function Ended({ why, message }: { why: Why; message: string }) {
    const { title, next } = ENDED[why];
    return (
        <main class="whole" data-testid="ended" data-state={why}>
            <h1>{title}</h1>
            {message !== '' && <p class="muted" data-testid="ended-message">{message}</p>}
            <p>{next}</p>
            {why === 'gone' && (
                <Button testid="reload" onClick={() => location.reload()}>
                    Try again
                </Button>
            )}
        </main>
    );
}
