// How does a small server on stdin and stdout speak both eras of the protocol?
//
// Only what the browser tests need, without an SDK: a test's server has to send things that no SDK lets through.

import { createInterface } from 'node:readline';

const REVISION = 'io.modelcontextprotocol/protocolVersion';

/**
 * Serves until stdin ends.
 *
 * `server` has `name`, `tools` (definitions, or a function that gives them), `call` (a function for each tool),
 * and optionally `instructions`, `capabilities`, `answers` (a function for each other method) and `isStateless`.
 */
export function serve(server) {
    const waiting = new Map();
    let ids = 0;
    const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const notify = (method, params) => send({ method, params });
    const ask = (method, params) =>
        new Promise((resolve, reject) => {
            const id = `asked-${++ids}`;
            waiting.set(id, { resolve, reject });
            send({ id, method, params });
        });
    const capabilities = server.capabilities ?? { tools: { listChanged: true } };
    const about = { name: server.name, version: '1.0.0' };
    const tools = () => (typeof server.tools === 'function' ? server.tools() : server.tools);

    async function answer(method, params) {
        const stateless = params?._meta?.[REVISION] !== undefined;
        const whole = (result) => (stateless && result.resultType === undefined ? { resultType: 'complete', ...result } : result);
        const known = server.answers?.[method];
        if (known) return whole(await known(params, { notify, ask }));
        switch (method) {
            case 'server/discover':
                if (!server.isStateless) throw new Failure(-32601, 'Method not found');
                return whole({ supportedVersions: ['2026-07-28'], capabilities, instructions: server.instructions, ttlMs: 0, cacheScope: 'private', _meta: { 'io.modelcontextprotocol/serverInfo': about } });
            case 'initialize':
                return { protocolVersion: '2025-11-25', capabilities, serverInfo: about, instructions: server.instructions };
            case 'ping':
                return {};
            case 'tools/list':
                return whole({ tools: tools(), ...(stateless ? { ttlMs: 0, cacheScope: 'private' } : {}) });
            case 'tools/call': {
                const call = server.call[params.name];
                if (!call) throw new Failure(-32602, `there is no tool ${params.name}`);
                return whole(await call(params.arguments ?? {}, { notify, ask, stateless, params }));
            }
            default:
                throw new Failure(-32601, 'Method not found');
        }
    }

    createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method, params, result, error } = JSON.parse(line);
        if (method === undefined) {
            const { resolve, reject } = waiting.get(id) ?? {};
            waiting.delete(id);
            if (error) reject?.(new Error(error.message));
            else resolve?.(result);
        } else if (id !== undefined) {
            answer(method, params).then(
                (result) => result !== undefined && send({ id, result }),
                (problem) => send({ id, error: { code: problem.code ?? -32603, message: problem.message } }),
            );
        }
    });
}

export class Failure extends Error {
    constructor(code, message) {
        super(message);
        this.code = code;
    }
}

export function text(text, more = {}) {
    return { content: [{ type: 'text', text }], ...more };
}

export function tool(name, description, properties = {}, more = {}) {
    return { name, description, inputSchema: { type: 'object', properties, ...(more.required ? { required: more.required } : {}) }, ...more.definition };
}
