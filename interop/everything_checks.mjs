// What must a client written in JavaScript get from the example `everything`?
//
// The rows of everything.json, and below what takes more than one request: pages, progress, log messages, questions that
// meet them, cancelling, news of changes. A client is a `Peer`; its results are the library's own. The twin of everything_checks.py: the same checks by
// the same names, which `cargo xtask interop` makes sure of.
//
// One line per check: `ok   ERA VERSION GROUP: WHAT`, or `FAIL` or `n/a ` with ` -- WHY` after it. `n/a` means that the
// library cannot ask the question, never that nobody tried. All checks run even if one fails; every wait has an end.

import { readFileSync } from 'node:fs';
import { Wrong, mismatch, require, show } from './everything_match.mjs';

const { rows: ROWS } = JSON.parse(readFileSync(new URL('everything.json', import.meta.url), 'utf8'));
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
const LIST_MEMBER = { tools: 'tools', resources: 'resources', templates: 'resourceTemplates', prompts: 'prompts' };
const NAME_MEMBER = { tools: 'name', resources: 'uri', templates: 'uriTemplate', prompts: 'name' };
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
const CHECK_TIMEOUT = 5_000; // ms
const HARD_TIMEOUT = 170_000;
const MOST_NODES = 3; // of one server
export const REQUEST = { timeout: CHECK_TIMEOUT };
export const CONNECT = { timeout: 15_000 };

/** The library, or the server by its own word, has no such thing; the text says which and why. */
export class NotHere extends Error {}

/** The server answered with a protocol error; the code is undefined where the client does not show it. */
export class Refused extends Error {
  constructor(code, message) {
    super(`protocol error ${code ?? 'without a number'}: ${message}`);
    this.code = code;
  }
}

/** What the checks need of a client. Everything goes in and comes out as the JSON of the wire. */
export class Peer {
  version; // what was negotiated
  wire = 'stdio'; // which of the wires lies before the server: stdio, http or sse
  name = 'interop'; // under which the server must know the client
  news = [];
  faults = [];
  deadline = Infinity;
  #waiting = [];
  #script = []; // the questions that are to come: kind, what must be asked, the answer
  #surprises = [];

  /** A notification came in. */
  heard(message) {
    this.news.push(message);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** The library complains. A progress that it read together with the answer is no fault: it forgets who asked before it
   * looks, and says so here. */
  complained(error) {
    const late = /^Received a progress notification for an unknown token: (.*)$/.exec(error.message);
    if (late) this.heard(JSON.parse(late[1]));
    else this.faults.push(describe(error));
  }

  /** Does something during which the server must ask just these questions. */
  async beingAsked(questions, work) {
    this.#script = [...questions];
    this.#surprises = [];
    const { result, error } = await work().then(result => ({ result }), error => ({ error }));
    const forgotten = this.#script.map(([kind, what]) => `not asked: ${kind} ${show(what)}`);
    const problems = [...this.#surprises, ...forgotten];
    if (problems.length > 0) {
      throw new Wrong([...problems, error ? describe(error) : `the result: ${show(result)}`].join('; '));
    }
    if (error) throw error;
    return result;
  }

  /** The server asks; this is the result. */
  answered(kind, params) {
    const at = this.#script.findIndex(([expected]) => expected === kind);
    const [[, what, answer] = []] = at < 0 ? [] : this.#script.splice(at, 1);
    const problem = answer ? mismatch(what, params ?? {}, `the question ${kind}`) : `nobody expected ${kind} ${show(params)}`;
    if (problem === undefined) return answer;
    this.#surprises.push(problem);
    throw new Error(problem);
  }

  /** Waits for so many notifications of a method, until the check's time is up. */
  async until(count, method, since = 0) {
    for (;;) {
      const found = this.of(method, since);
      if (found.length >= count) return found;
      await new Promise((resolve, reject) => {
        const left = this.deadline - performance.now();
        const timer = setTimeout(() => reject(new Error(`${found.length} of ${count} ${method} came in time`)), left);
        this.#waiting.push(() => (clearTimeout(timer), resolve()));
      });
    }
  }

  of(method, since = 0) {
    return this.news.slice(since).filter(message => message.method === method).map(message => message.params ?? {});
  }

  /** After this, whatever the server sent before has been handled, where all of it comes on one stream: a pipe, or the reply
   * to one request. */
  async fence() {
    for (let n = 0; n < 2; n++) await this.call('echo', { text: 'fence' });
  }

  /** After this, news of changes that the server sent before has been handled. Over HTTP a session has a stream for them,
   * which says nothing about other streams: it is asked for one more, and once again, for the server may tell what is due in
   * any order. A server of several processes, which are asked in turn, is asked at each of them: they tell their own news, each
   * in its own time. */
  async settled() {
    if (this.wire !== 'http' || this.version >= STATELESS) return this.fence();
    for (let n = 0; n < Math.max(2, MOST_NODES); n++) {
      const since = this.news.length;
      await this.call('resources_changed', {});
      await this.until(1, RESOURCES_CHANGED, since);
    }
  }

  /** For loops that ask again and again. */
  inTime() {
    if (performance.now() > this.deadline) throw new Error(`not done after ${CHECK_TIMEOUT / 1000} s`);
    return true;
  }

  /** Why this client cannot do a check, if it cannot. */
  cannot(_group, _what) {
    return undefined;
  }

  /** Starts a call, does something, then takes the call back. */
  async cancelled(name, args, meanwhile) {
    const abort = new AbortController();
    const call = this.call(name, args, { signal: abort.signal }).then(
      result => ({ result }),
      error => ({ error }),
    );
    try {
      await meanwhile();
    } finally {
      abort.abort('interop');
    }
    const { result } = await call;
    if (result !== undefined) throw new Wrong(`expected the call to be cancelled, got ${show(result)}`);
  }

  /** All pages of a list. */
  async every(kind) {
    const items = [];
    let cursor;
    do {
      const page = await this.page(kind, cursor);
      items.push(...page[LIST_MEMBER[kind]]);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return items;
  }
}

/** What a completion is for: a prompt, or a template by its URI. */
export function refer(reference) {
  return reference.includes('://') ? { type: 'ref/resource', uri: reference } : { type: 'ref/prompt', name: reference };
}

/** Does what a row says and returns what came of it. */
export async function answer(peer, action, ...words) {
  switch (action) {
    case 'says':
    case 'fails': {
      const result = await peer.call(...words);
      const [block, ...others] = result.content;
      const asFar = (result.isError ?? false) === (action === 'fails') && block?.type === 'text' && others.length === 0;
      if (!asFar) throw new Wrong(`expected one text${action === 'fails' ? ' of an error' : ''}, got ${show(result)}`);
      return block.text;
    }
    case 'call': {
      const result = await peer.call(...words);
      return result.isError ? { error: result } : result;
    }
    case 'names':
      return (await peer.every(words[0])).map(item => item[NAME_MEMBER[words[0]]]).sort();
    case 'listed':
      return peer.every(words[0]);
    case 'item':
      return (await peer.every(words[0])).find(item => item[NAME_MEMBER[words[0]]] === words[1]);
    default:
      return peer[action](...words);
  }
}

/** Requires a protocol error. */
async function refused(code, work) {
  let result;
  try {
    result = await work();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return require(code, error.code, 'the code');
  }
  throw new Wrong(`expected protocol error ${code}, got ${show(result)}`);
}

async function pagesOfResources(peer) {
  const sizes = [];
  const uris = [];
  let cursor;
  do {
    const page = await peer.page('resources', cursor);
    sizes.push(page.resources.length);
    uris.push(...page.resources.map(item => item.uri));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  const fixed = ['everything://bundle', 'everything://config', 'everything://logo', 'everything://readme'];
  require(fixed, uris.slice(0, 4).sort(), 'the first four');
  require(Array.from({ length: 25 }, (_, n) => `everything://dynamic/${n + 1}`), uris.slice(4), 'the others');
  // Ten of the listing function's own; whether the four others count is not said.
  if (sizes.length < 3 || Math.max(...sizes) > 14) throw new Wrong(`expected three or more pages of ten, got ${sizes}`);
}

const madeUpCursor = peer => refused(-32602, () => peer.page('resources', 'made-up'));

async function progressAskedFor(peer) {
  const seen = [];
  const since = peer.news.length;
  const result = await peer.call('countdown', { steps: 3 }, { progress: update => seen.push(update) });
  require('done', result.content[0].text);
  await peer.fence();
  seen.push(...peer.of('notifications/progress', since)); // what the library dropped, see `complained`
  const message = n => (peer.version >= '2025-03-26' ? `step ${n}` : undefined); // 2024-11-05 has no words there
  require(
    [1, 2, 3].map(n => [n, 3, message(n)]),
    seen.map(update => [update.progress, update.total, update.message]),
    'the progress',
  );
}

async function progressNotAskedFor(peer) {
  const since = peer.news.length;
  require('done', (await peer.call('countdown', { steps: 3 })).content[0].text);
  await peer.fence();
  require([], peer.of('notifications/progress', since), 'the progress');
}

/** Calls `chatter` and requires the levels from the first one on, each with its data; undefined: not one. */
async function chatter(peer, first, options) {
  const since = peer.news.length;
  require('logged', (await peer.call('chatter', {}, options)).content[0].text);
  await peer.fence();
  const expected = LEVELS.map((level, n) => ({ level, data: { message: `${level} message`, n } }));
  const from = first === undefined ? LEVELS.length : LEVELS.indexOf(first);
  require(expected.slice(from), peer.of('notifications/message', since), 'the messages');
}

const logAfter = level => async peer => {
  await peer.setLevel(level);
  await chatter(peer, level);
};

const logAskedFor = level => peer => chatter(peer, level, { meta: { [LOG_LEVEL]: level } });

/** The function runs three times; what it says while it runs is told once. */
async function saidOnce(peer) {
  const seen = [];
  const since = peer.news.length;
  const stateless = peer.version >= STATELESS;
  if (!stateless) await peer.setLevel('debug');
  const options = { progress: update => seen.push(update), ...(stateless && { meta: { [LOG_LEVEL]: 'debug' } }) };
  const questions = [
    ['elicit', {}, { action: 'accept', content: { name: 'Ada' } }],
    ['elicit', {}, { action: 'accept', content: { colour: 'red' } }],
  ];
  const result = await peer.beingAsked(questions, () => peer.call('wizard', {}, options));
  require('Ada likes red; drafts: 1', result.content[0].text);
  await peer.fence();
  seen.push(...peer.of('notifications/progress', since)); // what the library dropped, see `complained`
  // The library counts the rounds as well, without a total.
  const steps = seen.filter(update => update.total === 3).map(update => update.progress);
  require([1, 2, 3], steps.sort(), 'the progress');
  require(['begun', 'done'], peer.of('notifications/message', since).map(said => said.data.message), 'the messages');
}

const number = async (peer, tool) => Number((await peer.call(tool, {})).content[0].text);
const waited = peer => number(peer, 'waited');

/** So many calls of `wait` have reached their function: over HTTP each request has a way of its own. */
async function waiting(peer, count) {
  while ((await number(peer, 'waiting')) !== count) peer.inTime();
}

async function cancelIsHeard(peer) {
  await waiting(peer, 0);
  const before = await waited(peer);
  await peer.cancelled('wait', {}, () => waiting(peer, 1));
  // The server drops the call when it gets round to it; each look is a whole round trip.
  let now;
  do now = await waited(peer);
  while (now === before && peer.inTime());
  require(before + 1, now, 'the dropped calls');
  await peer.fence();
}

/** Of two waiting calls one is cancelled; the other waits on, and is cancelled next. */
async function cancelLeavesTheRest(peer) {
  await waiting(peer, 0);
  const before = await waited(peer);
  await peer.cancelled('wait', {}, async () => {
    await waiting(peer, 1);
    await peer.cancelled('wait', {}, () => waiting(peer, 2));
    while ((await waited(peer)) === before) peer.inTime();
    await peer.fence();
    require(before + 1, await waited(peer), 'the dropped calls');
  });
  let now;
  do now = await waited(peer);
  while (now === before + 1 && peer.inTime());
  require(before + 2, now, 'the dropped calls');
  await peer.fence();
}

async function toolComesAndGoes(peer) {
  const before = await answer(peer, 'names', 'tools');
  await peer.call('add_tool', { name: 'newcomer' });
  require([...before, 'newcomer'].sort(), await answer(peer, 'names', 'tools'), 'the tools');
  require('I am newcomer', await answer(peer, 'says', 'newcomer', {}));
  await peer.call('remove_tool', { name: 'newcomer' });
  require(before, await answer(peer, 'names', 'tools'), 'the tools');
  await refused(-32602, () => peer.call('newcomer', {}));
}

const TOOLS_CHANGED = 'notifications/tools/list_changed';
const RESOURCES_CHANGED = 'notifications/resources/list_changed';

/** Runs what changes a list and requires its news, once per change. */
async function changes(peer, method) {
  const since = peer.news.length;
  if (method === TOOLS_CHANGED) {
    await peer.call('add_tool', { name: 'herald' });
    // The server may be there for others, who would find the tool if it stayed after a failure.
    await peer.until(1, method, since).finally(() => peer.call('remove_tool', { name: 'herald' }));
    await peer.until(2, method, since);
  } else {
    await peer.call('resources_changed', {});
    await peer.until(1, method, since);
  }
}

/** Does something while a stream of news is open, where the server offers one. */
async function onAStream(peer, feature, member, filter, work) {
  if (!(await peer.info()).capabilities[feature]?.[member]) {
    throw new NotHere(`the server's discovery does not offer \`${feature}.${member}\` in this era`);
  }
  const stream = await peer.listen(filter);
  try {
    require(filter, stream.honoredFilter, 'what the server agreed to');
    await work();
  } finally {
    await stream.close();
  }
}

async function noNewsWithoutAStream(peer) {
  const since = peer.news.length;
  await peer.call('add_tool', { name: 'herald' });
  await peer.call('remove_tool', { name: 'herald' });
  await peer.call('resources_changed', {});
  await peer.call('touch', { uri: CONFIG });
  await peer.fence();
  require([], peer.news.slice(since), 'the news');
}

const UPDATED = 'notifications/resources/updated';
const CONFIG = 'everything://config';
const README = 'everything://readme';

/** Touches resources and returns the news of them that came. */
async function touches(peer, ...uris) {
  const since = peer.news.length;
  for (const uri of uris) await peer.call('touch', { uri });
  await peer.settled();
  return peer.of(UPDATED, since).map(update => update.uri);
}

async function updateForSubscribers(peer) {
  require([], await touches(peer, CONFIG), 'the news before');
  await peer.subscribe(CONFIG);
  require([CONFIG], await touches(peer, README, CONFIG), 'the news');
  await peer.unsubscribe(CONFIG);
  require([], await touches(peer, CONFIG), 'the news after');
}

async function updateOnAStream(peer) {
  await onAStream(peer, 'resources', 'subscribe', { resourceSubscriptions: [CONFIG] }, async () => {
    const since = peer.news.length;
    await peer.call('touch', { uri: README });
    await peer.call('touch', { uri: CONFIG });
    await peer.until(1, UPDATED, since);
    await peer.fence();
    require([CONFIG], peer.of(UPDATED, since).map(update => update.uri), 'the news');
  });
  await peer.fence();
  require([], await touches(peer, CONFIG), 'the news after');
}

const FIRST = '2024-11-05';
const LAST_HANDSHAKE = '2025-11-25';
const STATELESS = '2026-07-28';
const ANY = '9999';
const NO_SSE = 'HTTP+SSE lives on sessions, and 2026-07-28 has none';
// Group, what, first revision, last revision, check.
const SCENES = [
  ['pages', 'resources: all, in order, ten a page', FIRST, ANY, pagesOfResources],
  ['pages', 'resources: made-up cursor', FIRST, ANY, madeUpCursor],
  ['progress', 'countdown: three steps', FIRST, ANY, progressAskedFor],
  ['progress', 'countdown: nobody asked', FIRST, ANY, progressNotAskedFor],
  ['log', 'chatter: from warning by default', FIRST, LAST_HANDSHAKE, peer => chatter(peer, 'warning')],
  ['log', 'chatter: from debug after setLevel', FIRST, LAST_HANDSHAKE, logAfter('debug')],
  ['log', 'chatter: from error after setLevel', FIRST, LAST_HANDSHAKE, logAfter('error')],
  ['log', 'chatter: nobody asked', STATELESS, ANY, peer => chatter(peer, undefined)],
  ['log', 'chatter: asked for debug', STATELESS, ANY, logAskedFor('debug')],
  ['log', 'chatter: asked for error', STATELESS, ANY, logAskedFor('error')],
  ['asking', 'wizard: progress and log are told once', '2025-06-18', ANY, saidOnce],
  ['cancel', 'wait: dropped', FIRST, ANY, cancelIsHeard],
  ['cancel', 'wait: the other one goes on', FIRST, ANY, cancelLeavesTheRest],
  ['changes', 'a tool comes and goes', FIRST, ANY, toolComesAndGoes],
  ['changes', 'tools: news', FIRST, LAST_HANDSHAKE, peer => changes(peer, TOOLS_CHANGED)],
  ['changes', 'resources: news', FIRST, LAST_HANDSHAKE, peer => changes(peer, RESOURCES_CHANGED)],
  ['changes', 'tools: news on a stream', STATELESS, ANY, peer =>
    onAStream(peer, 'tools', 'listChanged', { toolsListChanged: true }, () => changes(peer, TOOLS_CHANGED))],
  ['changes', 'resources: news on a stream', STATELESS, ANY, peer =>
    onAStream(peer, 'resources', 'listChanged', { resourcesListChanged: true }, () => changes(peer, RESOURCES_CHANGED))],
  ['changes', 'no news without a stream', STATELESS, ANY, noNewsWithoutAStream],
  ['updates', 'touch: only to subscribers', FIRST, LAST_HANDSHAKE, updateForSubscribers],
  ['updates', 'touch: on a stream', STATELESS, ANY, updateOnAStream],
];

let failed = false;

function line(kind, era, version, group, what, why) {
  failed ||= kind === 'FAIL';
  const tail = why === undefined ? '' : ` -- ${why.replace(/\s+/g, ' ')}`;
  console.log(`${kind.padEnd(4)} ${era} ${version} ${group}: ${what}${tail}`);
}

export function describe(error) {
  if (error instanceof Wrong || error instanceof Refused) return error.message;
  return [error.name, error.code].filter(part => part !== undefined).join(' ') + `: ${error.message}`;
}

/** The rows of everything.json for a revision. */
export const rows = version => ROWS.filter(row => (row.since ?? FIRST) <= version && version <= (row.until ?? ANY));

/** All checks for a revision: group, what, a function of the peer that throws. */
function* checks(version) {
  for (const row of rows(version)) {
    yield [row.group, row.what, async peer => {
      const expected = JSON.parse(
        JSON.stringify(row.expect).replace('$version', version).replace('$client', peer.name),
      );
      let got;
      try {
        got = await peer.beingAsked(row.asked ?? [], () => answer(peer, ...row.do));
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (expected.error && error.code === undefined) {
          throw new NotHere('it was refused, as it must be; this client does not show the number of an error');
        }
        got = { error: { code: error.code, message: error.message } };
      }
      require(expected, got);
    }];
  }
  for (const [group, what, since, until, scene] of SCENES) {
    if (since <= version && version <= until) yield [group, what, scene];
  }
}

/** Ends with the check or with its time, whichever is first. */
function bounded(peer, check) {
  peer.deadline = performance.now() + CHECK_TIMEOUT;
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${CHECK_TIMEOUT / 1000} s`)), CHECK_TIMEOUT + 100);
  });
  return Promise.race([check(peer), late]).finally(() => clearTimeout(timer));
}

async function runEra(era, version, connect, chosen) {
  const todo = [...checks(version)].filter(([group, what]) => chosen(group, what));
  let peer;
  try {
    peer = await connect();
    line('ok', era, version, 'info', 'connect');
    require(version, peer.version, 'the version');
  } catch (error) {
    for (const [group, what] of [...todo, ['end', 'no transport errors'], ['end', 'close']]) {
      line('FAIL', era, version, group, what, `did not run: ${describe(error)}`);
    }
    await peer?.close();
    return;
  }
  for (const [group, what, check] of todo) {
    try {
      const why = peer.cannot(group, what);
      if (why !== undefined) throw new NotHere(why);
      await bounded(peer, check);
      line('ok', era, version, group, what);
    } catch (error) {
      if (error instanceof NotHere) line('n/a', era, version, group, what, error.message);
      else line('FAIL', era, version, group, what, describe(error));
    }
  }
  const faults = peer.faults.length > 0 ? `expected none, got ${show(peer.faults)}` : undefined;
  line(faults ? 'FAIL' : 'ok', era, version, 'end', 'no transport errors', faults);
  const closing = performance.now();
  let slow;
  try {
    await peer.close();
    // The libraries kill a stdio server that is still there 2 s after its stdin was closed.
    const took = (performance.now() - closing) / 1000;
    if (took >= 1.9) slow = `expected under 1.9 s, took ${took.toFixed(1)} s`;
  } catch (error) {
    slow = describe(error);
  }
  line(slow ? 'FAIL' : 'ok', era, version, 'end', 'close', slow);
}

/** What the command line says: the wire, and a command for stdio or a URL for the others. */
export function target() {
  const [wire, ...rest] = process.argv.slice(2);
  const [dashes, command, ...args] = rest;
  if (wire === 'stdio' && dashes === '--' && command !== undefined) return { wire, command, args };
  if ((wire === 'http' || wire === 'sse') && rest.length === 1 && URL.canParse(rest[0])) return { wire, url: new URL(rest[0]) };
  console.error(`usage: ${process.argv[1]} stdio -- CMD [ARGS...] | http URL | sse URL`);
  return process.exit(2);
}

/** Runs every era. `eras` are [era, version, options], `connect(target, options)` gives a peer, `notSpoken` are [era, version,
 * why]; a client that is asked some of the questions only has a `chosen(group, what)`. */
export async function main(eras, connect, { notSpoken = [], chosen = () => true } = {}) {
  const server = target();
  setTimeout(() => {
    line('FAIL', 'all', '-', 'end', 'timeout', `expected to be done in ${HARD_TIMEOUT / 1000} s`);
    process.exit(1);
  }, HARD_TIMEOUT).unref();
  for (const [era, version, why] of notSpoken) line('n/a', era, version, 'all', 'every check', why);
  for (const [era, version, options] of eras) {
    if (server.wire === 'sse' && version >= STATELESS) line('n/a', era, version, 'all', 'every check', NO_SSE);
    else await runEra(era, version, () => connect(server, options), chosen);
  }
  process.exitCode = failed ? 1 : 0;
}
