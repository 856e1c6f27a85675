// What does a server send that has more than fits on a screen?

import { serve, text, tool } from './wire.mjs';

const TOOLS = 5000;
const kinds = [{ type: 'string', description: 'A word.' }, { type: 'boolean' }, { enum: Array.from({ length: 30 }, (_, choice) => `choice ${choice}`) }, { type: 'integer' }];
const FIELDS = Object.fromEntries(Array.from({ length: 500 }, (_, number) => [`p${String(number).padStart(3, '0')}`, kinds[number % kinds.length]]));
const names = Array.from({ length: TOOLS - 1 }, (_, number) => `tool_${String(number).padStart(4, '0')}`);

serve({
    name: 'many',
    capabilities: { tools: {}, logging: {} },
    tools: process.argv[2] === 'wide' ? [tool('wide', 'Takes hundreds of arguments.', FIELDS)] : [tool('chatter', 'Sends log messages.', { messages: { type: 'integer' } }), ...names.map((name) => tool(name, `The tool ${name}.`, { a: { type: 'string' } }))],
    call: {
        wide: (args) => text(Object.entries(args).map(([name, value]) => `${name}=${value}`).join(' ')),
        chatter: ({ messages }, { notify }) => {
            for (let number = 1; number <= messages; number += 1) notify('notifications/message', { level: 'info', data: `message ${number}` });
            return text('sent');
        },
    },
    answers: { 'logging/setLevel': () => ({}) },
});
