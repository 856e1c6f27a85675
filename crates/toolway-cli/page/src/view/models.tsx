// What does each provider's model get to see of a tool, what is lost on the way, and what does it cost?

import { useState } from 'preact/hooks';
import type { Loss, Rendering, Server, Tool } from '../api/types';
import { post } from '../api/request';
import { Code } from '../part/code';
import { Tabs } from '../part/tabs';
import { withMarks } from '../part/visible';
import { count } from '../state/clock';
import { Loading, useAnswer } from './answer';
import { Muted } from '../part/button';
import { TableHead } from '../part/table';

const NAMES: Record<string, string> = { openai: 'OpenAI', openai_strict: 'OpenAI strict', anthropic: 'Anthropic', gemini: 'Gemini' };
const EFFECTS: Record<Loss['effect'], string> = {
    wider: 'the model may send more than the tool takes',
    narrower: 'the model can send less than the tool takes',
    annotation_only: 'only a remark is lost',
};

export function ModelsTab({ server, tool }: { server: Server; tool: Tool }) {
    const [chosen, choose] = useState<string>('openai');
    const { answer, problem } = useAnswer(() => post<Rendering>('/api/render', { server: server.id, tool: tool.name }), [server.id, tool.name, tool.input_schema]);
    if (!answer) return <Loading what="the providers' definitions" problem={problem} />;
    const shown = answer.providers.find((provider) => provider.provider === chosen) ?? answer.providers[0];
    if (!shown) return <Loading what="the providers' definitions" problem="the server has no definition of this tool" />;
    const preamble = answer.preamble?.[shown.provider];
    return (
        <Tabs
            tabs={answer.providers.map((provider) => ({
                id: provider.provider,
                label: NAMES[provider.provider] ?? provider.provider,
                badge: provider.losses.length > 0 ? `${provider.losses.length} lost` : null,
            }))}
            chosen={shown.provider}
            choose={choose}
            label="Providers"
            testid="provider"
            class="inner"
        >
            <div class="stack" data-testid="rendering">
                <p>
                    <strong data-testid="rendering-tokens">~{count(shown.tokens)} tokens</strong> in each request
                    {preamble ? <Muted>, and once ~{count(preamble)} for having tools at all</Muted> : null}
                </p>
                {shown.losses.length === 0 ? (
                    <p class="tone-ok" data-testid="no-losses">Nothing of the schema is lost.</p>
                ) : (
                    <table class="losses" data-testid="losses">
                        <TableHead columns={['place', 'lost', 'why', 'effect']} />
                        <tbody>
                            {shown.losses.slice(0, 100).map((loss) => (
                                <tr key={loss.pointer + loss.what}>
                                    <td>
                                        <code>{withMarks(loss.pointer || '/')}</code>
                                    </td>
                                    <td>
                                        <code>{withMarks(loss.what)}</code>
                                    </td>
                                    <td>{withMarks(loss.why)}</td>
                                    <td class={loss.effect === 'narrower' ? 'tone-bad' : ''}>{EFFECTS[loss.effect]}</td>
                                </tr>
                            ))}
                        </tbody>
                    </table>
                )}
                {shown.name !== tool.name && (
                    <p>
                        The model knows it as <code>{withMarks(shown.name)}</code>.
                    </p>
                )}
                <Code text={shown.definition} label="definition for the provider" testid="definition" />
            </div>
        </Tabs>
    );
}
