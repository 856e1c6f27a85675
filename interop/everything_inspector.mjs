// Interop test: the example `everything`, driven by the command line of the MCP inspector
// (npm `@modelcontextprotocol/inspector` 2.12.0, node 22).
//
//     everything_inspector.mjs stdio -- CMD [ARGS...] | http URL | sse URL
//
// One question is one process and one result as JSON. That takes a second, so this asks a choice of what everything.json has:
// all that is in the lists, and each kind of question. They are asked before the first check, a few at a time. The package is
// looked up as `require` does it: next to this file, or in the directory $NODE_PATH names.

import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Peer, Refused, answer, main, rows } from './everything_checks.mjs';

const require = createRequire(import.meta.url);
const PACKAGE = require.resolve('@modelcontextprotocol/inspector/package.json');
const PROGRAM = join(dirname(PACKAGE), 'clients', 'launcher', 'build', 'index.js');
// It keeps a catalog of servers, and would do so at home.
const HOME = join(dirname(fileURLToPath(import.meta.url)), 'home');

// Its `auto` is that of the library in everything.mjs.
const ERAS = [
  ['stateless', '2026-07-28', 'modern'],
  ['handshake', '2025-11-25', 'legacy'],
];
const LISTS = {
  tools: ['tools/list', 'tools'],
  resources: ['resources/list', 'resources'],
  templates: ['resources/templates/list', 'resourceTemplates'],
  prompts: ['prompts/list', 'prompts'],
};
const IN_A_LIST = ['info', 'names', 'listed', 'item'];
const ALONE = [
  'info: who',
  'calls: add: 2 + 3',
  'calls: echo: quotes, lines, other alphabets',
  'calls: nothing: no blocks',
  'arguments: profile: good',
  'arguments: profile: too young',
  'errors: divide: by zero',
  'structured: stats: structured',
  'structured: stats: the same as text',
  'structured: numbers: structured',
  'structured: numbers: not structured before 2026-07-28',
  'content: mixed',
  'content: link',
  'resources: readme: read',
  'resources: logo: read',
  'resources: unknown',
  'templates: note',
  'templates: file: with slashes',
  'prompts: greet: chosen style',
  'prompts: greet: missing argument',
  'prompts: review: two roles',
];
const AT_ONCE = 4;
const ONE_QUESTION = 30_000; // ms

// It tells the server that its user and its model cannot be asked, and has no roots of its own.
const ANSWERS_NOTHING = 'the command line of the inspector answers no questions';

const chosenRows = version =>
  rows(version).filter(row => IN_A_LIST.includes(row.do[0]) || ALONE.includes(`${row.group}: ${row.what}`));

const chosen = (group, what) =>
  group === 'asking' || ERAS.some(([, version]) => chosenRows(version).some(row => row.group === group && row.what === what));

class Inspector extends Peer {
  name = 'inspector-cli';
  #asked = new Map();
  #arguments;

  static async connect(server, era) {
    const peer = new Inspector();
    peer.wire = server.wire;
    const place = server.url ? [server.url.href, '--transport', server.wire] : [server.command, ...server.args];
    peer.#arguments = [PROGRAM, '--cli', ...place, '--protocol-era', era, '--format', 'json', '--quiet', '--stored-auth-only'];
    peer.version = (await peer.info()).protocolVersion;
    const left = chosenRows(peer.version);
    const lane = async () => {
      // What comes of it is looked at later, check by check.
      for (let row; (row = left.shift()); ) await answer(peer, ...row.do).catch(() => {});
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    return peer;
  }

  /** The result of one run; the same question is asked once. */
  async ask(...words) {
    const key = JSON.stringify(words);
    if (!this.#asked.has(key)) this.#asked.set(key, this.#run(words));
    const { status, out, err } = await this.#asked.get(key);
    // 5 is a tool's own failure, which is a result as well.
    if (status === 0 || status === 5) return JSON.parse(out).result;
    if (status !== 1) throw new Error(`the inspector ended with ${status}: ${err}`);
    throw new Refused(undefined, JSON.parse(err).error.message);
  }

  #run(words) {
    const env = { ...process.env, HOME, USERPROFILE: HOME };
    return new Promise(resolve => {
      execFile(process.execPath, [...this.#arguments, ...words], { env, timeout: ONE_QUESTION }, (error, out, err) =>
        resolve({ status: error ? error.code : 0, out, err }),
      );
    });
  }

  cannot(group) {
    return group === 'asking' ? ANSWERS_NOTHING : undefined;
  }

  info() {
    return this.ask('--method', 'initialize');
  }

  async every(kind) {
    const [method, member] = LISTS[kind];
    return (await this.ask('--method', method))[member];
  }

  call(name, args) {
    return this.ask('--method', 'tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args));
  }

  read(uri) {
    return this.ask('--method', 'resources/read', '--uri', uri);
  }

  prompt(name, args) {
    const pairs = Object.entries(args).map(([key, value]) => `${key}=${value}`);
    return this.ask('--method', 'prompts/get', '--prompt-name', name, ...(pairs.length > 0 ? ['--prompt-args', ...pairs] : []));
  }

  async close() {}
}

await main(ERAS, Inspector.connect, { chosen });
