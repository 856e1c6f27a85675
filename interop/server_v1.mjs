// The server of `interop/src/sdk` on the TypeScript SDK 1 (npm `@modelcontextprotocol/sdk` 1.32.2), which knows only the old era:
// `node server_v1.mjs stdio`, or `http` on PORT.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
    ListResourcesRequestSchema, SubscribeRequestSchema, UnsubscribeRequestSchema, isInitializeRequest
} from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod/v4';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';
const PAGES = Array.from({ length: 25 }, (_, n) => `interop://page/${n + 1}`);
const PAGE_SIZE = 10;
const READ_ONLY = { readOnlyHint: true };

// Shared by all instances: over HTTP there is one for each conversation.
const shared = { note: 0, begun: 0, cancelled: 0, grown: new Set(), servers: new Set() };

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
        async ({ to }, extra) => {
            const progressToken = extra._meta?.progressToken;
            for (let progress = 1; progress <= to && progressToken !== undefined; progress++) {
                const params = { progressToken, progress, total: to, message: `step ${progress}` };
                await extra.sendNotification({ method: 'notifications/progress', params });
            }
            return text(`counted to ${to}`);
        }
    );
    server.registerTool('wait', { description: 'Waits until it is not wanted.', inputSchema: z.object({}) }, async (_, extra) => {
        shared.begun++;
        await new Promise(resolve => extra.signal.addEventListener('abort', resolve));
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
        async ({ level, text: said }, extra) => {
            await server.sendLoggingMessage({ level, data: said, logger: 'interop' }, extra.sessionId);
            return text('logged');
        }
    );
    server.registerTool(
        'region',
        {
            description: 'Says where.',
            inputSchema: z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }), text: z.string() })
        },
        ({ region, text: said }) => text(`${region}: ${said}`)
    );
    server.registerTool('touch', { description: 'Changes the note.', inputSchema: z.object({}) }, async () => {
        shared.note++;
        for (const each of shared.servers) if (each.isConnected()) await each.server.sendResourceUpdated({ uri: 'interop://note' });
        return text(`note ${shared.note}`);
    });
    server.registerTool(
        'grow',
        { description: 'Adds a tool.', inputSchema: z.object({ name: z.string() }) },
        ({ name }) => {
            shared.grown.add(name);
            // Each of them tells its client by itself.
            for (const each of shared.servers) grow(each, name);
            return text(`there is ${name} now`);
        }
    );
}

function grow(server, name) {
    server.registerTool(name, { description: 'A new tool.', inputSchema: z.object({}) }, () => text(`I am ${name}`));
}

// They are asked as most servers ask, on the stream of no request.
function addQuestions(server) {
    const ask = (name, inputSchema, question) =>
        server.registerTool(name, { description: 'Asks.', inputSchema }, async args => text(await question(args)));
    const elicit = async params => {
        const { action, content } = await server.server.elicitInput(params);
        return { action, content };
    };
    const requestedSchema = {
        type: 'object',
        properties: {
            name: { type: 'string', title: 'Name', minLength: 1 },
            size: { type: 'string', enum: ['small', 'large'], default: 'small' },
            count: { type: 'integer', minimum: 1, default: 3 }
        },
        required: ['name']
    };
    ask('ask_form', z.object({}), () => elicit({ message: 'Who?', requestedSchema }));
    ask('ask_url', z.object({ url: z.string() }), ({ url }) =>
        elicit({ mode: 'url', message: 'Pay, please.', url, elicitationId: 'pay-1' })
    );
    ask('ask_model', z.object({ prompt: z.string() }), async ({ prompt }) => {
        const messages = [{ role: 'user', content: { type: 'text', text: prompt } }];
        const { content } = await server.server.createMessage({ messages, systemPrompt: 'Be brief.', maxTokens: 77 });
        return [content].flat()[0].text;
    });
    ask('folders', z.object({}), async () => (await server.server.listRoots()).roots.map(({ uri }) => uri));
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
    server.server.setRequestHandler(ListResourcesRequestSchema, ({ params }) => {
        const start = Number(params?.cursor ?? 0);
        const nextCursor = start + PAGE_SIZE < all.length ? String(start + PAGE_SIZE) : undefined;
        return { resources: all.slice(start, start + PAGE_SIZE), ...(nextCursor && { nextCursor }) };
    });
    server.server.setRequestHandler(SubscribeRequestSchema, () => ({}));
    server.server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
}

function addPrompts(server) {
    const styles = ['formal', 'friendly', 'fancy'];
    const names = (typed, context) => [context?.arguments?.style === 'formal' ? 'Dr. Who' : 'Who'].filter(name => name.startsWith(typed));
    server.registerPrompt(
        'greet',
        {
            title: 'Greeting',
            description: 'Greets a person.',
            argsSchema: {
                name: completable(z.string(), names),
                style: completable(z.string().optional(), typed => styles.filter(style => style.startsWith(typed ?? '')))
            }
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

function listen(port) {
    const sessions = new Map();
    createServer(async (request, response) => {
        const chunks = await request.toArray();
        const body = chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString());
        const known = sessions.get(request.headers['mcp-session-id']);
        if (known) return known.handleRequest(request, response, body);
        if (!isInitializeRequest(body)) {
            const status = request.headers['mcp-session-id'] ? 404 : 400;
            response.writeHead(status, { 'content-type': 'application/json' });
            const error = { code: -32000, message: 'Bad Request: No valid session ID provided' };
            return response.end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
        }
        const transport = new StreamableHTTPServerTransport({
            sessionIdGenerator: () => randomUUID(),
            onsessioninitialized: id => sessions.set(id, transport),
            onsessionclosed: id => sessions.delete(id)
        });
        await open().connect(transport);
        return transport.handleRequest(request, response, body);
    }).listen(port, '127.0.0.1');
}

if (process.argv[2] === 'http') {
    listen(Number(process.env.PORT));
} else {
    await open().connect(new StdioServerTransport());
}
