// Interop test: the example `everything` behind `mcp-remote` (npm, 0.15.1, node 22), which makes a server with a URL look like
// one on stdio; driven by the official TypeScript client.
//
//     everything_remote.mjs http URL | sse URL
//
// Runs the checks of everything_checks.mjs with the client of everything.mjs, in all its eras: the proxy passes messages on as
// they are. The packages are looked up as `require` does it: next to this file, or in the directory $NODE_PATH names.

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ERAS, TypeScript } from './everything.mjs';
import { CONNECT, main } from './everything_checks.mjs';

const require = createRequire(import.meta.url);
const PROXY = join(dirname(require.resolve('mcp-remote/package.json')), 'dist', 'proxy.js');
const HERE = dirname(fileURLToPath(import.meta.url));

// On a pipe a client takes a request back with a message. Over HTTP 2026-07-28 has it close the stream of the reply, and the
// proxy sends the message on instead; so streams of news stay open as well.
const NOT_TAKEN_BACK = 'mcp-remote leaves the stream open that 2026-07-28 has a client close';
const CANNOT_STATELESS = {
  'custom: unknown method': 'mcp-remote makes its own error -32001 of every 404',
  'cancel: wait: dropped': NOT_TAKEN_BACK,
  'cancel: wait: the other one goes on': NOT_TAKEN_BACK,
  'changes: no news without a stream': NOT_TAKEN_BACK,
  'updates: touch: on a stream': NOT_TAKEN_BACK,
};

async function connect(server, options) {
  const args = [PROXY, server.url.href, '--transport', `${server.wire}-only`];
  // It keeps what it learns about servers, and would do so at home.
  const env = { ...process.env, MCP_REMOTE_CONFIG_DIR: join(HERE, 'mcp-auth') };
  const peer = await TypeScript.connect({ wire: 'stdio', command: process.execPath, args, env }, options);
  peer.wire = server.wire;
  if (peer.version >= '2026-07-28') {
    peer.cannot = (group, what) => CANNOT_STATELESS[`${group}: ${what}`];
    // Connecting has asked nothing, or a process that is gone by now: the first question waits until the proxy has started.
    await peer.client.discover(CONNECT);
  } else {
    // It adds itself to the greeting, not to every request.
    peer.name = 'interop (via mcp-remote 0.15.1)';
  }
  return peer;
}

await main(ERAS, connect);
