// Interop test: drives an MCP server with the official TypeScript client
// (npm `@modelcontextprotocol/client` 2.4.0, node 22).
//
//     client.mjs stdio -- CMD [ARGS...]
//     client.mjs http URL
//
// The package is looked up as `require` does it: next to this file, or in the directory $NODE_PATH names.
//
// For each era the library knows - `stateless` (pinned to 2026-07-28), `handshake` (`initialize`, the
// library's default, must settle on 2025-11-25) and `auto` (probe, must settle on 2026-07-28) - it connects
// and checks the negotiated version, the definition of the tool `add`, a good call, a bad call, an unknown
// tool, `ping` (handshake only: 2026-07-28 has none), that the transport saw no error (an unreadable
// message, a refused GET stream), and that closing is prompt.
//
// One line per check: `ok   <era> <what>` or `FAIL <era> <what>: <expected vs got>`. The library does every
// era on both transports, so nothing is skipped, and all checks run even if one fails. Exit code 1 if any
// failed, 2 on bad usage; a hard stop after 60 s.

import { createRequire } from 'node:module';
import { isDeepStrictEqual } from 'node:util';

const require = createRequire(import.meta.url);
const { Client, ProtocolError, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');

// era -> [`versionNegotiation.mode` of the library's client, version that must be negotiated]. "legacy"
// offers 2025-11-25 but takes older answers as well; the version check makes that a pin.
const ERAS = {
  stateless: [{ pin: '2026-07-28' }, '2026-07-28'],
  handshake: ['legacy', '2025-11-25'],
  auto: ['auto', '2026-07-28'],
};
// The argument `a` by its name - `a`, 'a', "a", /a, a: - as opposed to the English article.
const NAMES_A = /[`'"/.]a\b|(^|\s)a(:|$)/m;
const REQUEST = { timeout: 5_000 }; // ms
const ERA_TIMEOUT = 16_000;
const HARD_TIMEOUT = 60_000;

let failed = false;

function report(era, what, problem) {
  failed ||= problem !== undefined;
  console.log(problem === undefined ? `ok   ${era} ${what}` : `FAIL ${era} ${what}: ${problem.replace(/\s+/g, ' ')}`);
}

const describe = error => [error.name, error.code].filter(part => part !== undefined).join(' ') + `: ${error.message}`;
const show = value => JSON.stringify(value) ?? String(value);

// A tool call as one comparable value: a result's error flag and first block, or a protocol error's code.
async function call(client, name, args) {
  try {
    const result = await client.callTool({ name, arguments: args }, REQUEST);
    return [result.isError ?? false, result.content[0]?.type, result.content[0]?.text];
  } catch (error) {
    if (error instanceof ProtocolError) return `protocol error ${error.code}`;
    throw error;
  }
}

// Rows of: what is checked, the expected value, the check.
function* table(era, client, version) {
  let add;
  yield ['negotiated version', version, () => client.getNegotiatedProtocolVersion()];
  yield ['tools/list has add', 'add', async () => {
    const { tools } = await client.listTools(undefined, REQUEST);
    add = tools.find(tool => tool.name === 'add');
    return add?.name ?? tools.map(tool => tool.name);
  }];
  yield ['add: description', 'Add two numbers.', () => add.description];
  for (const [name, text] of [['a', 'First addend.'], ['b', 'Second addend.']]) {
    yield [`add: inputSchema ${name}`, ['number', text], () => {
      const { type, description } = add.inputSchema.properties[name];
      return [type, description];
    }];
  }
  yield ['add: inputSchema required', ['a', 'b'], () => add.inputSchema.required];
  yield ['add: inputSchema additionalProperties', false, () => add.inputSchema.additionalProperties];
  yield ['add: 2 + 3', [false, 'text', '5'], () => call(client, 'add', { a: 2, b: 3 })];
  yield ['add: bad argument', [true, 'a text naming `a`'], async () => {
    const result = await call(client, 'add', { a: 'x', b: 3 });
    return Array.isArray(result) && NAMES_A.test(result[2]) ? [result[0], 'a text naming `a`'] : result;
  }];
  yield ['unknown tool', 'protocol error -32602', () => call(client, 'no_such_tool', {})];
  if (era === 'handshake') {
    yield ['ping', {}, () => client.ping(REQUEST)];
  } else {
    // Connecting asked for this already, but on stdio it asked a process of its own that is gone by now.
    yield ['server/discover offers the version', version, async () => {
      const { supportedVersions } = await client.discover(REQUEST);
      return supportedVersions.includes(version) ? version : supportedVersions;
    }];
  }
}

async function runEra(era, transport) {
  const [mode, version] = ERAS[era];
  const client = new Client({ name: 'interop', version: '1.0.0' }, { versionNegotiation: { mode } });
  const faults = [];
  client.onerror = error => faults.push(describe(error));
  try {
    await client.connect(transport, REQUEST);
    report(era, 'connect');
  } catch (error) {
    report(era, 'connect', describe(error));
    const rest = [...table(era, client, version)].map(row => row[0]);
    for (const what of [...rest, 'no transport errors', 'close']) report(era, what, 'not connected');
    return;
  }
  for (const [what, expected, check] of table(era, client, version)) {
    let got, problem;
    try {
      got = await check();
      if (!isDeepStrictEqual(got, expected)) problem = `expected ${show(expected)}, got ${show(got)}`;
    } catch (error) {
      problem = `expected ${show(expected)}, got ${describe(error)}`;
    }
    report(era, what, problem);
  }
  report(era, 'no transport errors', faults.length ? `expected none, got ${show(faults)}` : undefined);
  const closing = performance.now();
  try {
    await transport.terminateSession?.(); // HTTP: DELETE, if the server gave a session id
    await client.close();
    // The library kills a stdio server that is still there 2 s after its stdin was closed.
    const took = (performance.now() - closing) / 1000;
    report(era, 'close', took < 1.9 ? undefined : `expected under 1.9 s, took ${took.toFixed(1)} s`);
  } catch (error) {
    report(era, 'close', describe(error));
  }
}

const [kind, ...rest] = process.argv.slice(2);
let open;
if (kind === 'http' && rest.length === 1 && URL.canParse(rest[0])) {
  open = () => new StreamableHTTPClientTransport(new URL(rest[0]));
} else if (kind === 'stdio' && rest[0] === '--' && rest.length > 1) {
  open = () => new StdioClientTransport({ command: rest[1], args: rest.slice(2) });
} else {
  console.error('usage: client.mjs stdio -- CMD [ARGS...] | client.mjs http URL');
  process.exit(2);
}
setTimeout(() => {
  report('all', 'timeout', `expected to be done in ${HARD_TIMEOUT / 1000} s; the checks not shown did not run`);
  process.exit(1);
}, HARD_TIMEOUT).unref();
for (const era of Object.keys(ERAS)) {
  const transport = open();
  const timer = setTimeout(() => {
    report(era, 'timeout', `expected to be done in ${ERA_TIMEOUT / 1000} s; the checks below run on a closed connection`);
    transport.close();
  }, ERA_TIMEOUT);
  await runEra(era, transport);
  clearTimeout(timer);
}
process.exitCode = failed ? 1 : 0;
