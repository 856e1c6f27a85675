// Interop test: the example `everything`, driven by the official TypeScript client
// (npm `@modelcontextprotocol/client` 2.4.0, node 22).
//
//     everything.mjs stdio -- CMD [ARGS...] | http URL | sse URL
//
// Runs the checks of everything_checks.mjs for each era the library knows: `stateless` (pinned to 2026-07-28), `handshake`
// (its default, 2025-11-25, and each older revision, which it can be told to offer) and `auto` (probe, must settle on
// 2026-07-28). The package is looked up as `require` does it: next to this file, or in the directory $NODE_PATH names.

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { CONNECT, Peer, Refused, REQUEST, main, refer } from './everything_checks.mjs';

const require = createRequire(import.meta.url);
const {
  Client,
  ProtocolError,
  ResourceNotFoundError,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  fromJsonSchema,
} = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');

const TRANSPORTS = {
  stdio: server => new StdioClientTransport(server),
  http: server => new StreamableHTTPClientTransport(server.url),
  sse: server => new SSEClientTransport(server.url),
};
export const ERAS = [
  ['stateless', '2026-07-28', { versionNegotiation: { mode: { pin: '2026-07-28' } } }],
  ['auto', '2026-07-28', { versionNegotiation: { mode: 'auto' } }],
  ['handshake', '2025-11-25', {}],
  ...['2025-06-18', '2025-03-26', '2024-11-05'].map(version => ['handshake', version, { supportedProtocolVersions: [version] }]),
];
const METHODS = { tools: 'tools/list', resources: 'resources/list', templates: 'resources/templates/list', prompts: 'prompts/list' };
const NEWS = [
  'notifications/message',
  'notifications/tools/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
];
const ANYTHING = fromJsonSchema({});
const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** A result, or `Refused`. */
async function asked(request) {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ProtocolError) throw Object.assign(new Refused(error.code, error.message), { cause: error });
    const unknown = unknownMethod(error);
    throw unknown ? new Refused(unknown.code, unknown.message) : error;
  }
}

/** Over HTTP the library reads an error in a 400 only; 2026-07-28 wants a 404 for an unknown method, which comes as text. */
function unknownMethod(error) {
  if (!(error instanceof SdkHttpError) || error.status !== 404) return undefined;
  try {
    return JSON.parse(error.data.text).error;
  } catch {
    return undefined;
  }
}

export class TypeScript extends Peer {
  static async connect(server, options) {
    const peer = new TypeScript();
    peer.wire = server.wire;
    peer.transport = TRANSPORTS[server.wire](server);
    const client = new Client({ name: 'interop', version: '1.0.0' }, { ...options, capabilities: CAPABILITIES });
    client.onerror = error => unknownMethod(error) ?? peer.complained(error);
    client.fallbackNotificationHandler = async message => peer.heard(message);
    for (const method of NEWS) client.setNotificationHandler(method, message => peer.heard(message));
    // In 2026-07-28 the library answers with them as well, and calls again.
    client.setRequestHandler('elicitation/create', async request => peer.answered('elicit', request.params));
    client.setRequestHandler('sampling/createMessage', async request => peer.answered('sample', request.params));
    client.setRequestHandler('roots/list', async request => peer.answered('roots', request.params));
    peer.client = client;
    await client.connect(peer.transport, CONNECT);
    peer.version = client.getNegotiatedProtocolVersion();
    return peer;
  }

  async info() {
    const { client } = this;
    return {
      serverInfo: client.getServerVersion(),
      instructions: client.getInstructions(),
      capabilities: client.getServerCapabilities(),
    };
  }

  /** Without a cursor the library would walk all pages, so the first page is asked for by its method. */
  page(kind, cursor) {
    return asked(this.client.request({ method: METHODS[kind], params: { cursor } }, REQUEST));
  }

  /** As a user does it: one call, all pages. */
  async every(kind) {
    const { client } = this;
    const options = { ...REQUEST, cacheMode: 'refresh' };
    switch (kind) {
      case 'tools':
        return (await asked(client.listTools(undefined, options))).tools;
      case 'resources':
        return (await asked(client.listResources(undefined, options))).resources;
      case 'templates':
        return (await asked(client.listResourceTemplates(undefined, options))).resourceTemplates;
      default:
        return (await asked(client.listPrompts(undefined, options))).prompts;
    }
  }

  call(name, args, { progress, meta, signal } = {}) {
    const params = { name, arguments: args, ...(meta && { _meta: meta }) };
    return asked(this.client.callTool(params, { ...REQUEST, onprogress: progress, signal }));
  }

  async read(uri) {
    try {
      return await asked(this.client.readResource({ uri }, { ...REQUEST, cacheMode: 'refresh' }));
    } catch (error) {
      // The library knows the codes of both eras and shows the newer one for either: only what it understood can be seen.
      if (error.cause instanceof ResourceNotFoundError) {
        throw new Refused(this.version < '2026' ? -32002 : -32602, error.message);
      }
      throw error;
    }
  }

  prompt(name, args) {
    return asked(this.client.getPrompt({ name, arguments: args }, REQUEST));
  }

  complete(reference, name, value) {
    return asked(this.client.complete({ ref: refer(reference), argument: { name, value } }, REQUEST));
  }

  request(method, params) {
    return asked(this.client.request({ method, params }, ANYTHING, REQUEST));
  }

  ping() {
    return asked(this.client.ping(REQUEST));
  }

  setLevel(level) {
    return asked(this.client.setLoggingLevel(level, REQUEST));
  }

  subscribe(uri) {
    return asked(this.client.subscribeResource({ uri }, REQUEST));
  }

  unsubscribe(uri) {
    return asked(this.client.unsubscribeResource({ uri }, REQUEST));
  }

  listen(filter) {
    return asked(this.client.listen(filter, REQUEST));
  }

  async close() {
    await this.transport.terminateSession?.(); // over HTTP, if the server began a session
    await this.client.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(ERAS, TypeScript.connect);
