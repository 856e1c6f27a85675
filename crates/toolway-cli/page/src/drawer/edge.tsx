// How does the reader change the height of the drawer? With the pointer, and with the arrow keys.

import { useRef } from 'preact/hooks';
import { drawerHeight } from '../state/settings';

const LOWEST = 120;
const STEP = 40;

export function DrawerEdge() {
    const start = useRef<{ y: number; height: number } | null>(null);
    const set = (height: number) => {
        drawerHeight.value = Math.round(Math.max(LOWEST, Math.min(window.innerHeight - 200, height)));
    };
    return (
        <div
            class="edge"
            role="separator"
            aria-orientation="horizontal"
            aria-label="Height of the drawer"
            aria-valuenow={drawerHeight.value}
            aria-valuemin={LOWEST}
            aria-valuemax={2000}
            tabIndex={0}
            data-testid="drawer-edge"
            onPointerDown={(event) => {
                start.current = { y: event.clientY, height: drawerHeight.value };
                event.currentTarget.setPointerCapture(event.pointerId);
            }}
            onPointerMove={(event) => {
                if (start.current) set(start.current.height + start.current.y - event.clientY);
            }}
            onPointerUp={() => (start.current = null)}
            onKeyDown={(event) => {
                if (event.key === 'ArrowUp') set(drawerHeight.value + STEP);
                else if (event.key === 'ArrowDown') set(drawerHeight.value - STEP);
                else return;
                event.preventDefault();
            }}
        />
    );
}
