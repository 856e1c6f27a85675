// The server of `interop/src/sdk` on the TypeScript SDK 2, in both eras: `node server_v2.mjs stdio`, or `http` on PORT.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import {
    McpServer, ResourceTemplate, completable, createMcpHandler, fromJsonSchema, inputRequired, inputResponse,
    isInitializeRequest, isLegacyRequest
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod/v4';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';
const PAGES = Array.from({ length: 25 }, (_, n) => `interop://page/${n + 1}`);
const PAGE_SIZE = 10;
const READ_ONLY = { readOnlyHint: true };

// What all instances share: over HTTP there is one for each conversation, or even for each request.
const shared = { note: 0, begun: 0, cancelled: 0, grown: new Set(), servers: new Set(), modern: undefined };

const text = value => ({ content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }] });

function build() {
    const server = new McpServer(
        { name: 'interop', version: '1.0.0', title: 'Interop' },
        {
            instructions: 'Ask for anything.',
            capabilities: { logging: {}, tools: { listChanged: true }, resources: { subscribe: true, listChanged: true } }
        }
    );
    addTools(server);
    addQuestions(server);
    addResources(server);
    addPrompts(server);
    for (const name of shared.grown) grow(server, name);
    return server;
}

function addTools(server) {
    server.registerTool(
        'add',
        {
            title: 'Add numbers',
            description: 'Adds two numbers.',
            inputSchema: z.object({ a: z.number(), b: z.number() }),
            outputSchema: z.object({ sum: z.number() }),
            annotations: READ_ONLY
        },
        ({ a, b }) => ({ ...text({ sum: a + b }), structuredContent: { sum: a + b } })
    );
    server.registerTool(
        'echo',
        { description: 'Says it again.', inputSchema: z.object({ text: z.string() }), annotations: READ_ONLY },
        ({ text: said }) => text(said)
    );
    server.registerTool(
        'big',
        { description: 'A long text.', inputSchema: z.object({ bytes: z.int() }), annotations: READ_ONLY },
        ({ bytes }) => text('x'.repeat(bytes))
    );
    server.registerTool(
        'fail',
        { description: 'Fails.', inputSchema: z.object({ reason: z.string() }) },
        ({ reason }) => ({ ...text(`it failed: ${reason}`), isError: true })
    );
    server.registerTool('mixed', { description: 'One block of each kind.', inputSchema: z.object({}) }, () => ({
        content: [
            { type: 'text', text: 'a text' },
            { type: 'image', data: PNG, mimeType: 'image/png' },
            { type: 'audio', data: WAV, mimeType: 'audio/wav' },
            { type: 'resource_link', uri: 'interop://note', name: 'note' },
            { type: 'resource', resource: { uri: 'interop://note', mimeType: 'text/plain', text: `note ${shared.note}` } }
        ]
    }));
    server.registerTool(
        'count',
        { description: 'Counts, and says how far it is.', inputSchema: z.object({ to: z.int() }) },
        async ({ to }, ctx) => {
            const progressToken = ctx.mcpReq._meta?.progressToken;
            for (let progress = 1; progress <= to && progressToken !== undefined; progress++) {
                const params = { progressToken, progress, total: to, message: `step ${progress}` };
                await ctx.mcpReq.notify({ method: 'notifications/progress', params });
            }
            return text(`counted to ${to}`);
        }
    );
    server.registerTool('wait', { description: 'Waits until it is not wanted.', inputSchema: z.object({}) }, async (_, ctx) => {
        shared.begun++;
        await new Promise(resolve => ctx.mcpReq.signal.addEventListener('abort', resolve));
        shared.cancelled++;
        return text('not wanted');
    });
    server.registerTool(
        'waits',
        { description: 'How many calls of wait began, and how many were not wanted.', inputSchema: z.object({}), annotations: READ_ONLY },
        () => text({ begun: shared.begun, cancelled: shared.cancelled })
    );
    server.registerTool(
        'hold',
        { description: 'Takes its time.', inputSchema: z.object({ ms: z.int() }), annotations: READ_ONLY },
        async ({ ms }) => {
            await new Promise(resolve => setTimeout(resolve, ms));
            return text('held');
        }
    );
    server.registerTool(
        'log',
        { description: 'Says something in the log.', inputSchema: z.object({ level: z.string(), text: z.string() }) },
        async ({ level, text: said }, ctx) => {
            await ctx.mcpReq.log(level, said, 'interop');
            return text('logged');
        }
    );
    server.registerTool(
        'region',
        {
            description: 'Says where.',
            inputSchema: fromJsonSchema({
                type: 'object',
                properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, text: { type: 'string' } },
                required: ['region', 'text']
            })
        },
        ({ region, text: said }) => text(`${region}: ${said}`)
    );
    server.registerTool('touch', { description: 'Changes the note.', inputSchema: z.object({}) }, async () => {
        shared.note++;
        shared.modern?.notify.resourceUpdated('interop://note');
        for (const each of shared.servers) if (each.isConnected()) await each.server.sendResourceUpdated({ uri: 'interop://note' });
        return text(`note ${shared.note}`);
    });
    server.registerTool(
        'grow',
        { description: 'Adds a tool.', inputSchema: z.object({ name: z.string() }) },
        ({ name }) => {
            shared.grown.add(name);
            shared.modern?.notify.toolsChanged();
            // Each of them tells its client by itself.
            for (const each of shared.servers) grow(each, name);
            return text(`there is ${name} now`);
        }
    );
}

function grow(server, name) {
    server.registerTool(name, { description: 'A new tool.', inputSchema: z.object({}) }, () => text(`I am ${name}`));
}

// The questions are written once; in the old era the SDK asks them while the call waits.
function addQuestions(server) {
    const ask = (name, inputSchema, question, answer) =>
        server.registerTool(name, { description: 'Asks.', inputSchema }, (args, ctx) => {
            const response = inputResponse(ctx.mcpReq.inputResponses, 'it');
            if (response.kind === 'missing') return inputRequired({ inputRequests: { it: question(args) } });
            return text(answer(response));
        });
    const asElicited = ({ action, content }) => ({ action, content });
    const form = {
        type: 'object',
        properties: {
            name: { type: 'string', title: 'Name', minLength: 1 },
            size: { type: 'string', enum: ['small', 'large'], default: 'small' },
            count: { type: 'integer', minimum: 1, default: 3 }
        },
        required: ['name']
    };
    ask('ask_form', z.object({}), () => inputRequired.elicit({ message: 'Who?', requestedSchema: form }), asElicited);
    ask('ask_url', z.object({ url: z.string() }), ({ url }) => inputRequired.elicitUrl({ message: 'Pay, please.', url }), asElicited);
    ask(
        'ask_model',
        z.object({ prompt: z.string() }),
        ({ prompt }) =>
            inputRequired.createMessage({
                messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
                systemPrompt: 'Be brief.',
                maxTokens: 77
            }),
        ({ result }) => [result.content].flat()[0].text
    );
    ask('folders', z.object({}), () => inputRequired.listRoots(), ({ roots }) => roots.map(({ uri }) => uri));
}

function addResources(server) {
    server.registerResource('note', 'interop://note', { mimeType: 'text/plain', title: 'Note' }, uri => ({
        contents: [{ uri: uri.href, mimeType: 'text/plain', text: `note ${shared.note}` }]
    }));
    server.registerResource('picture', 'interop://picture', { mimeType: 'image/png' }, uri => ({
        contents: [{ uri: uri.href, mimeType: 'image/png', blob: PNG }]
    }));
    const complete = { id: typed => ['alpha', 'beta', 'better'].filter(id => id.startsWith(typed)) };
    server.registerResource('item', new ResourceTemplate('interop://item/{id}', { list: undefined, complete }), {}, (uri, { id }) => ({
        contents: [{ uri: uri.href, mimeType: 'text/plain', text: `item ${id}` }]
    }));
    for (const page of PAGES) {
        server.registerResource(page, page, {}, uri => ({ contents: [{ uri: uri.href, text: page }] }));
    }
    // The high interface has no pages.
    const all = ['interop://note', 'interop://picture', ...PAGES].map(uri => ({ uri, name: uri.split('//')[1] }));
    server.server.setRequestHandler('resources/list', ({ params }) => {
        const start = Number(params?.cursor ?? 0);
        const nextCursor = start + PAGE_SIZE < all.length ? String(start + PAGE_SIZE) : undefined;
        return { resources: all.slice(start, start + PAGE_SIZE), ...(nextCursor && { nextCursor }) };
    });
    server.server.setRequestHandler('resources/subscribe', () => ({}));
    server.server.setRequestHandler('resources/unsubscribe', () => ({}));
}

function addPrompts(server) {
    const styles = ['formal', 'friendly', 'fancy'];
    const names = (typed, context) => [context?.arguments?.style === 'formal' ? 'Dr. Who' : 'Who'].filter(name => name.startsWith(typed));
    server.registerPrompt(
        'greet',
        {
            title: 'Greeting',
            description: 'Greets a person.',
            argsSchema: z.object({
                name: completable(z.string(), names),
                style: completable(z.string(), typed => styles.filter(style => style.startsWith(typed))).optional()
            })
        },
        ({ name, style = 'plain' }) => ({
            messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name} in a ${style} way.` } }]
        })
    );
}

/** An instance that lives as long as its conversation. */
function open() {
    const server = build();
    shared.servers.add(server);
    server.server.onclose = () => shared.servers.delete(server);
    return server;
}

async function listen(port) {
    const modern = createMcpHandler(build, { legacy: 'reject' });
    shared.modern = modern;
    const serveModern = toNodeHandler(modern);
    const sessions = new Map();
    const serveLegacy = async (request, response, body) => {
        const known = sessions.get(request.headers['mcp-session-id']);
        if (known) return known.handleRequest(request, response, body);
        if (!isInitializeRequest(body)) {
            const status = request.headers['mcp-session-id'] ? 404 : 400;
            response.writeHead(status, { 'content-type': 'application/json' });
            const error = { code: -32001, message: 'Session not found' };
            return response.end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
        }
        const transport = new NodeStreamableHTTPServerTransport({
            sessionIdGenerator: () => randomUUID(),
            onsessioninitialized: id => sessions.set(id, transport),
            onsessionclosed: id => sessions.delete(id)
        });
        await open().connect(transport);
        return transport.handleRequest(request, response, body);
    };
    createServer(async (request, response) => {
        const chunks = await request.toArray();
        const body = chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString());
        const legacy = await isLegacyRequest(await toWebRequest(request, body), body);
        await (legacy ? serveLegacy : serveModern)(request, response, body);
    }).listen(port, '127.0.0.1');
}

if (process.argv[2] === 'http') {
    await listen(Number(process.env.PORT));
} else {
    serveStdio(open);
}
