// What went over the wire, and what did the server tell besides?

import type { ComponentChild } from 'preact';
import { Tabs } from '../part/tabs';
import { DRAWER_TABS, drawerTab, type DrawerTab } from '../state/selection';
import { drawerHeight, drawerOpen } from '../state/settings';
import { DrawerEdge } from './edge';
import { FramesTab } from './frames';
import { LatencyTab } from './latency';
import { LogTab } from './log';
import { NewsTab } from './news';
import { StderrTab } from './stderr';
import { TimelineTab } from './timeline';
import { QuietButton, Unseen } from '../part/button';

export const DRAWER_LABELS: Record<DrawerTab, string> = {
    frames: 'Frames',
    timeline: 'Timeline',
    latency: 'Latency',
    log: 'Log',
    stderr: 'Stderr',
    news: 'Notifications',
};

const VIEWS: Record<DrawerTab, () => ComponentChild> = {
    frames: () => <FramesTab />,
    timeline: () => <TimelineTab />,
    latency: () => <LatencyTab />,
    log: () => <LogTab />,
    stderr: () => <StderrTab />,
    news: () => <NewsTab />,
};

export function Drawer() {
    const open = drawerOpen.value;
    return (
        <section class={open ? 'drawer' : 'drawer closed'} aria-label="Wire" data-testid="drawer-box" data-state={open ? 'open' : 'closed'} style={{ height: open ? `${drawerHeight.value}px` : 'auto' }}>
            {open && <DrawerEdge />}
            <Tabs
                tabs={DRAWER_TABS.map((id) => ({ id, label: DRAWER_LABELS[id] }))}
                chosen={drawerTab.value}
                choose={(tab) => {
                    drawerTab.value = tab;
                    drawerOpen.value = true;
                }}
                label="Wire"
                testid="drawer"
                aside={
                    <QuietButton aria-expanded={open} testid="drawer-toggle" onClick={() => (drawerOpen.value = !open)}>
                        {open ? 'Close' : 'Open'}
                        <Unseen> the drawer</Unseen>
                    </QuietButton>
                }
            >
                {open && VIEWS[drawerTab.value]()}
            </Tabs>
        </section>
    );
}
