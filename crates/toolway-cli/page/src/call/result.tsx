// How is the result of a call shown: as blocks, as its structured value, raw, or against the result before it?

import { signal } from '@preact/signals';
import type { Call } from '../api/types';
import { Code } from '../part/code';
import { Empty } from '../part/empty';
import { Tabs } from '../part/tabs';
import { withMarks } from '../part/visible';
import { Blocks } from './blocks';
import { Differences } from './differences';

type ResultTab = 'blocks' | 'structured' | 'raw' | 'diff';

/** The chosen tab of each element: a repeated call stays at what the reader compares. */
const tab = signal<Record<string, ResultTab>>({});

export function ResultTabs({ call }: { call: Call }) {
    const key = `${call.server} ${call.kind} ${call.name}`;
    const chosen = tab.value[key] ?? 'blocks';
    const tabs = [
        { id: 'blocks' as const, label: 'Blocks', badge: call.blocks.length },
        { id: 'structured' as const, label: 'Structured' },
        { id: 'raw' as const, label: 'Raw' },
        { id: 'diff' as const, label: 'Diff to last', badge: call.diff?.length },
    ];
    return (
        <Tabs tabs={tabs} chosen={chosen} choose={(next) => (tab.value = { ...tab.value, [key]: next })} label="Result" testid="result" class="result">
            {call.output.problems.length > 0 && (
                <ul class="problems" data-testid="output-problems">
                    {call.output.problems.map((problem) => (
                        <li key={problem}>{withMarks(problem)}</li>
                    ))}
                </ul>
            )}
            {chosen === 'blocks' && <Blocks blocks={call.blocks} />}
            {chosen === 'structured' &&
                (call.structured === null ? (
                    <Empty title="No structured content">The tool answers with blocks only. A tool with an output schema has a structured value as well.</Empty>
                ) : (
                    <Code text={call.structured} label="structured content" testid="structured" />
                ))}
            {chosen === 'raw' && <Code text={call.result ?? 'null'} label="raw result" testid="raw-result" />}
            {chosen === 'diff' && <LastDiff call={call} />}
        </Tabs>
    );
}

function LastDiff({ call }: { call: Call }) {
    if (call.diff === null) {
        return <Empty title="Nothing to compare with yet">Run the tool once more: this shows what changed since the call before.</Empty>;
    }
    if (call.diff.length === 0) return <p class="tone-ok diff-same" data-testid="diff-same">The result is equal to the one before.</p>;
    return <Differences differences={call.diff} left="before" right="now" />;
}
