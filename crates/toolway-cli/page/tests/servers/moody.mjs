// What does a server do that changes its mind?
//
// It answers differently each time, in each era, or not at all; changes its list; and breaks what its schema promises.

import { serve, text, tool } from './wire.mjs';

let calls = 0;
let extra = [];
let greeting = 'Greet someone.';

const NUMBER = { type: 'object', properties: { value: { type: 'integer' } }, required: ['value'] };

serve({
    name: 'moody',
    isStateless: process.argv[2] === 'both',
    capabilities: { tools: { listChanged: true }, logging: {} },
    tools: () => [
        tool('greet', greeting, { name: { type: 'string' } }),
        tool('count', 'Counts its calls.', {}, { definition: { outputSchema: { type: 'object', properties: { calls: { type: 'integer' } } } } }),
        tool('promise', 'Breaks its output schema.', {}, { definition: { outputSchema: NUMBER } }),
        tool('hang', 'Never answers.'),
        tool('die', 'Ends the program.'),
        tool('change', 'Changes the list of tools.'),
        tool('differ', 'Says one byte more in one era.'),
        tool('same', 'Says the same in both eras.'),
        tool('ask_twice', 'Asks for a name, then for an age.'),
        tool('big', 'Answers a lot.', { lines: { type: 'integer' } }),
        tool('log', 'Logs at several levels.'),
        tool('erase', 'Destroys everything.', {}, { definition: { annotations: { destructiveHint: true, idempotentHint: true } } }),
        tool('union', 'Takes one of two things.', {}, { definition: { inputSchema: { type: 'object', anyOf: [{ required: ['a'] }, { required: ['b'] }], properties: { a: { type: 'string', pattern: '^a+$' }, b: { type: 'integer', minimum: 3 } } } } }),
        ...extra,
    ],
    call: {
        greet: ({ name }) => text(`Hello ${name ?? 'you'}!`),
        count: () => {
            calls += 1;
            return text(`call ${calls}`, { structuredContent: { calls } });
        },
        promise: () => text('seven', { structuredContent: { value: 'seven' } }),
        hang: () => {
            process.stderr.write('waiting for the database\nstill waiting for the database\n');
            return new Promise(() => {});
        },
        die: () => process.exit(3),
        change: (_args, { notify }) => {
            extra = [tool('added', 'Is new.')];
            greeting = 'Greet someone politely.';
            notify('notifications/tools/list_changed');
            return text('changed');
        },
        differ: (_args, { stateless }) => text(stateless ? 'equal but for one byte.' : 'equal but for one byte'),
        same: () => text('the same', { structuredContent: { same: true } }),
        ask_twice: askTwice,
        big: ({ lines = 2000 }) => text(Array.from({ length: lines }, (_, line) => `line ${line}`).join('\n')),
        log: (_args, { notify }) => {
            for (const level of ['debug', 'info', 'warning', 'error']) notify('notifications/message', { level, logger: 'moody', data: `a message of level ${level}` });
            return text('logged');
        },
        erase: () => text('erased'),
        union: () => text('taken'),
    },
    answers: { 'logging/setLevel': () => ({}) },
});

const QUESTIONS = [
    { mode: 'form', message: 'Who are you?', requestedSchema: { type: 'object', properties: { name: { type: 'string', title: 'Name', description: 'As in the passport.' } }, required: ['name'] } },
    { mode: 'form', message: 'How old are you?', requestedSchema: { type: 'object', properties: { age: { type: 'integer', minimum: 0 } }, required: ['age'] } },
];

/** In one era a request to the client, in the other a result that is called again with the answers. */
async function askTwice(_args, { ask, stateless, params }) {
    const answers = [];
    if (!stateless) {
        for (const question of QUESTIONS) answers.push(await ask('elicitation/create', question));
    } else {
        const before = JSON.parse(params.requestState ?? '[]');
        answers.push(...before, ...Object.values(params.inputResponses ?? {}));
        if (answers.length < QUESTIONS.length) {
            const next = answers.length;
            return {
                resultType: 'input_required',
                inputRequests: { [`question-${next}`]: { method: 'elicitation/create', params: QUESTIONS[next] } },
                requestState: JSON.stringify(answers),
            };
        }
    }
    const [who, age] = answers;
    return text(who.action === 'accept' && age.action === 'accept' ? `${who.content.name} is ${age.content.age}` : 'no answer');
}
