// How is each kind of content block shown?

import { useMemo } from 'preact/hooks';
import type { Block } from '../api/types';
import { Code } from '../part/code';
import { Empty } from '../part/empty';
import { Link } from '../part/link';
import { Media } from '../part/media';
import { withMarks } from '../part/visible';
import { Muted } from '../part/button';

const LONG = 32 * 1024;
const MOST = 100;

export function Blocks({ blocks }: { blocks: Block[] }) {
    if (blocks.length === 0) return <Empty title="The result has no blocks">The tab Raw shows the whole answer.</Empty>;
    return (
        <ol class="blocks" data-testid="blocks">
            {blocks.slice(0, MOST).map((block, index) => (
                <li key={index} class="block" data-testid={`block-${index}`} data-kind={block.type}>
                    {(blocks.length > 1 || block.role) && <span class="block-kind">{block.role ? `${block.role}: ${block.type}` : block.type}</span>}
                    <BlockContent block={block} />
                </li>
            ))}
            {blocks.length > MOST && <li class="muted">{blocks.length - MOST} more blocks; the tab Raw has all of them</li>}
        </ol>
    );
}

function BlockContent({ block }: { block: Block }) {
    switch (block.type) {
        case 'text':
            return <Text text={block.text} />;
        case 'image':
        case 'audio':
            return <Media mimeType={block.mime_type} data={block.data} />;
        case 'link':
            return (
                <p class="block-link">
                    {block.name && <span>{withMarks(block.name)} </span>}
                    <Link address={block.uri} testid="block-link" />
                </p>
            );
        case 'resource':
            return (
                <div class="block-resource">
                    <p class="resource-head">
                        <Link address={block.uri} /> {block.mime_type && <Muted>{withMarks(block.mime_type)}</Muted>}
                    </p>
                    {block.text !== undefined && block.text !== null && <Text text={block.text} />}
                    {block.data !== undefined && block.data !== null && <Media mimeType={block.mime_type ?? 'unknown type'} data={block.data} />}
                </div>
            );
        default:
            return <Code text={block.json} label="block" />;
    }
}

/** A text that is a JSON object or array is laid out; any other keeps its lines. */
function Text({ text }: { text: string }) {
    const isJson = useMemo(() => looksLikeJson(text), [text]);
    if (isJson) return <Code text={text} label="text" testid="block-text" />;
    if (text.length > LONG) return <Code text={text} label="text" plain testid="block-text" />;
    return (
        <pre class="block-text" dir="auto" data-testid="block-text">
            {withMarks(text)}
        </pre>
    );
}

function looksLikeJson(text: string): boolean {
    const short = text.trim();
    if (short.length > 1024 * 1024 || !/^[{[]/.test(short) || !/[}\]]$/.test(short)) return false;
    try {
        JSON.parse(short);
        return true;
    } catch {
        return false;
    }
}
