// Interop test: the example `everything`, driven by the TypeScript client before its second version
// (npm `@modelcontextprotocol/sdk` 1.32.2, node 22).
//
//     everything_v1.mjs stdio -- CMD [ARGS...] | http URL | sse URL
//
// Runs the checks of everything_checks.mjs for `handshake` (2025-11-25), the only era and the only revision the library
// offers. The package is looked up as `require` does it: next to this file, or in the directory $NODE_PATH names.

import { createRequire } from 'node:module';
import { CONNECT, Peer, Refused, REQUEST, main, refer } from './everything_checks.mjs';

const require = createRequire(import.meta.url);
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { SSEClientTransport } = require('@modelcontextprotocol/sdk/client/sse.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
const types = require('@modelcontextprotocol/sdk/types.js');

const TRANSPORTS = {
  stdio: server => new StdioClientTransport(server),
  http: server => new StreamableHTTPClientTransport(server.url),
  sse: server => new SSEClientTransport(server.url),
};
const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const ERAS = [['handshake', '2025-11-25']];
const NOT_SPOKEN = [['stateless', '2026-07-28', '@modelcontextprotocol/sdk 1.32.2 knows no revision after 2025-11-25']];
const NEWS = [
  types.LoggingMessageNotificationSchema,
  types.ToolListChangedNotificationSchema,
  types.ResourceListChangedNotificationSchema,
  types.ResourceUpdatedNotificationSchema,
];

/** A result, or `Refused`. */
async function asked(request) {
  try {
    return await request;
  } catch (error) {
    // The library's own troubles have codes of the protocol as well; these are its timeout and its closed connection.
    const local = [types.ErrorCode.RequestTimeout, types.ErrorCode.ConnectionClosed];
    if (error instanceof types.McpError && !local.includes(error.code)) throw new Refused(error.code, error.message);
    throw error;
  }
}

class TypeScriptV1 extends Peer {
  static async connect(server) {
    const peer = new TypeScriptV1();
    peer.wire = server.wire;
    const client = new Client({ name: 'interop', version: '1.0.0' }, { capabilities: CAPABILITIES });
    client.onerror = error => peer.complained(error);
    client.fallbackNotificationHandler = async message => peer.heard(message);
    for (const schema of NEWS) client.setNotificationHandler(schema, message => peer.heard(message));
    client.setRequestHandler(types.ElicitRequestSchema, async request => peer.answered('elicit', request.params));
    client.setRequestHandler(types.CreateMessageRequestSchema, async request => peer.answered('sample', request.params));
    client.setRequestHandler(types.ListRootsRequestSchema, async request => peer.answered('roots', request.params));
    peer.client = client;
    const transport = (peer.transport = TRANSPORTS[server.wire](server));
    // The transport is told what was agreed on, and nobody else is.
    const agreed = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = version => {
      peer.version = version;
      agreed?.(version);
    };
    await client.connect(transport, CONNECT);
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

  page(kind, cursor) {
    const { client } = this;
    switch (kind) {
      case 'tools':
        return asked(client.listTools({ cursor }, REQUEST));
      case 'resources':
        return asked(client.listResources({ cursor }, REQUEST));
      case 'templates':
        return asked(client.listResourceTemplates({ cursor }, REQUEST));
      default:
        return asked(client.listPrompts({ cursor }, REQUEST));
    }
  }

  call(name, args, { progress, signal } = {}) {
    return asked(this.client.callTool({ name, arguments: args }, undefined, { ...REQUEST, onprogress: progress, signal }));
  }

  read(uri) {
    return asked(this.client.readResource({ uri }, REQUEST));
  }

  prompt(name, args) {
    return asked(this.client.getPrompt({ name, arguments: args }, REQUEST));
  }

  complete(reference, name, value) {
    return asked(this.client.complete({ ref: refer(reference), argument: { name, value } }, REQUEST));
  }

  request(method, params) {
    return asked(this.client.request({ method, params }, types.ResultSchema, REQUEST));
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

  async close() {
    await this.transport.terminateSession?.(); // over HTTP, if the server began a session
    await this.client.close();
  }
}

await main(ERAS, TypeScriptV1.connect, { notSpoken: NOT_SPOKEN });
