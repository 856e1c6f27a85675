// What does the element pane show, and what does the drawer show?

import { computed, signal } from '@preact/signals';
import type { Element, PromptElement, Tool } from '../api/types';
import { dismissConfirmations } from './notices';
import { currentId, server } from './servers';

export type ElementKind = 'tool' | 'resource' | 'template' | 'prompt';
export type ViewKind = 'server' | 'doctor' | 'hub' | 'recordings';
export type Selection = { kind: ElementKind; name: string } | { kind: ViewKind };
export type ToolTab = 'call' | 'schema' | 'models' | 'history';
export type DrawerTab = 'frames' | 'timeline' | 'latency' | 'log' | 'stderr' | 'news';

export const DRAWER_TABS: DrawerTab[] = ['frames', 'timeline', 'latency', 'log', 'stderr', 'news'];

export const selection = signal<Selection>({ kind: 'server' });
export const toolTab = signal<ToolTab>('call');
export const drawerTab = signal<DrawerTab>('frames');
/** The frame whose content is open, by number. */
export const openFrame = signal<number | null>(null);

/** Resources and templates are known by URI, tools and prompts by name. */
export type Found =
    | { kind: 'tool'; tool: Tool }
    | { kind: 'resource' | 'template'; element: Element }
    | { kind: 'prompt'; prompt: PromptElement };

export const found = computed<Found | null>(() => {
    const chosen = selection.value;
    const at = server.value;
    if (!at || !('name' in chosen)) return null;
    switch (chosen.kind) {
        case 'tool': {
            const tool = at.tools.find((tool) => tool.name === chosen.name);
            return tool ? { kind: 'tool', tool } : null;
        }
        case 'prompt': {
            const prompt = at.prompts.find((prompt) => prompt.name === chosen.name);
            return prompt ? { kind: 'prompt', prompt } : null;
        }
        default: {
            const list = chosen.kind === 'resource' ? at.resources : at.templates;
            const element = list.find((element) => element.uri === chosen.name);
            return element ? { kind: chosen.kind, element } : null;
        }
    }
});

/** The key under which drafts and shown calls of the selected element are kept. */
export const elementKey = computed(() => {
    const chosen = selection.value;
    return 'name' in chosen ? `${currentId.value}/${chosen.kind}/${chosen.name}` : null;
});

// Another server has other frames.
currentId.subscribe(() => {
    openFrame.value = null;
});

export function select(next: Selection): void {
    selection.value = next;
    dismissConfirmations();
}

export function showFrame(number: number): void {
    drawerTab.value = 'frames';
    openFrame.value = number;
}
