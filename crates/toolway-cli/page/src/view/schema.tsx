// What does a tool take and give, as its server declares it?

import type { Tool } from '../api/types';
import { Code } from '../part/code';
import { Findings } from '../part/pages';
import { withMarks } from '../part/visible';

export function SchemaTab({ tool }: { tool: Tool }) {
    return (
        <div class="stack" data-testid="schema">
            <p class="signature">
                <code data-testid="signature">{withMarks(tool.signature)}</code>
            </p>
            {tool.fits.length > 0 && (
                <div class="warning" data-testid="schema-findings">
                    <strong>The doctor's findings</strong>
                    <Findings of={tool.fits} />
                </div>
            )}
            <h2>Input</h2>
            <Code text={tool.input_schema} label="input schema" testid="input-schema" />
            <h2>Output</h2>
            {tool.output_schema === null ? (
                <p class="quiet-note">The tool declares no output schema: its results are blocks that only their reader understands.</p>
            ) : (
                <Code text={tool.output_schema} label="output schema" testid="output-schema" />
            )}
            {tool.annotations && (
                <>
                    <h2>Annotations</h2>
                    <Code text={JSON.stringify(tool.annotations)} label="annotations" />
                </>
            )}
        </div>
    );
}
