// What does a server send that has more than fits on a screen?

import { serve, text, tool } from './wire.mjs';

const TOOLS = 5000;
const names = Array.from({ length: TOOLS - 1 }, (_, number) => `tool_${String(number).padStart(4, '0')}`);

serve({
    name: 'many',
    capabilities: { tools: {}, logging: {} },
    tools: [tool('chatter', 'Sends log messages.', { messages: { type: 'integer' } }), ...names.map((name) => tool(name, `The tool ${name}.`, { a: { type: 'string' } }))],
    call: {
        chatter: ({ messages }, { notify }) => {
            for (let number = 1; number <= messages; number += 1) notify('notifications/message', { level: 'info', data: `message ${number}` });
            return text('sent');
        },
    },
    answers: { 'logging/setLevel': () => ({}) },
});
