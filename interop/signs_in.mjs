// Interop test: our protected server, to which users of clients on Node.js sign in.
//
//     signs_in.mjs LIBRARY PROGRAM URL AGE ISSUER
//
// LIBRARY is `typescript` (npm `@modelcontextprotocol/client` 2.4.0, with an `OAuthClientProvider`) or `remote` (npm
// `mcp-remote` 0.15.1, driven by the former on stdio). PROGRAM is our program `interop`: it is the browser of the users, and
// fetches fixed tokens. URL is the server that `interop serve-notes` is, AGE the seconds after which a token must have been
// renewed, and ISSUER is `idp.mjs`. The eras run at the same time. The twin of signs_in.py: the same checks by the same
// names, one line for each.

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual, promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [library, program, url, age, issuer] = process.argv.slice(2);
const PROXY = join(dirname(createRequire(import.meta.url).resolve('mcp-remote/package.json')), 'dist', 'proxy.js');
const STATELESS = '2026-07-28';
const PINNED = { versionNegotiation: { mode: { pin: STATELESS } } };
const AUTO = { versionNegotiation: { mode: 'auto' } };
// The proxy passes on the messages of any era, and makes those of the new era of old ones itself if it is told to.
const ERAS = [
    { name: 'auto', version: STATELESS, options: library === 'remote' ? {} : AUTO, proxy: ['--protocol', 'auto'] },
    { name: 'stateless', version: STATELESS, options: PINNED, proxy: [] },
    { name: 'handshake', version: '2025-11-25', options: {}, proxy: [] }
];
const CHECK_TIMEOUT = 60_000; // ms
const NO_USER = 1000; // how long we look at a proxy that waits for a user who does not sign in
const EARLY = 'mcp-remote renews a token one minute before it expires';
// The client does not listen there: the user brings back what the identity provider says.
const REDIRECT = 'http://localhost:19191/callback';

/** Runs our program and returns what it prints. */
async function ask(...words) {
    return (await promisify(execFile)(program, words)).stdout.trim();
}

/** A user of the TypeScript client. The library keeps nothing itself, and leaves the user to the program. */
class User {
    logins = 0;
    redirectUrl = REDIRECT;
    clientMetadata = {
        client_name: 'interop',
        redirect_uris: [REDIRECT],
        // Without them the library does not ask for a refresh token.
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'none'
    };
    #kept = {};

    clientInformation = () => this.#kept.client;
    saveClientInformation = client => void (this.#kept.client = client);
    tokens = () => this.#kept.tokens;
    saveTokens = tokens => void (this.#kept.tokens = tokens);
    codeVerifier = () => this.#kept.verifier;
    saveCodeVerifier = verifier => void (this.#kept.verifier = verifier);
    discoveryState = () => this.#kept.discovered;
    saveDiscoveryState = discovered => void (this.#kept.discovered = discovered);

    async redirectToAuthorization(page) {
        this.logins += 1;
        this.back = new URL(await ask('sign-in', page.href)).searchParams;
    }
}

/** A class of its own makes the client start one process only. Otherwise it starts another one first to find out the era, and
 * hides the page that this one asks the user to open. */
class RemoteProxy extends StdioClientTransport {}

/** A client. `auth` has a user, a fixed token or nothing. */
class Peer {
    statuses = []; // of the replies
    pages = 0; // that the proxy has asked the user to open
    #asked;
    asked = new Promise(resolve => (this.#asked = resolve));

    constructor(era, { user, token } = {}) {
        Object.assign(this, { era, user, token });
        this.client = new Client({ name: 'interop', version: '1.0.0' }, era.options);
    }

    connect() {
        return library === 'remote' ? this.#startProxy() : this.#signedIn(() => this.client.connect(this.#open()));
    }

    #open() {
        const requestInit = this.token && { headers: { authorization: `Bearer ${this.token}` } };
        const hear = async (...request) => {
            const reply = await fetch(...request);
            this.statuses.push(reply.status);
            return reply;
        };
        const options = { authProvider: this.user, requestInit, fetch: hear };
        return (this.transport = new StreamableHTTPClientTransport(new URL(url), options));
    }

    /** Does something. The library leaves it to its caller to wait for the user to sign in, and to try again. */
    async #signedIn(work) {
        try {
            return await work();
        } catch (error) {
            if (!this.user || !(error instanceof UnauthorizedError)) throw error;
            await this.transport.finishAuth(this.user.back);
            return await work();
        }
    }

    async #startProxy() {
        const { era, token } = this;
        const header = token ? ['--header', `Authorization: Bearer ${token}`] : [];
        this.folder = mkdtempSync(join(tmpdir(), 'interop-remote-'));
        this.transport = new RemoteProxy({
            command: process.execPath,
            args: [PROXY, url, await freePort(), '--transport', 'http-only', '--auth-timeout', '60', ...era.proxy, ...header],
            // It finds no browser on this path, so it asks the user to open a page.
            env: { HOME: this.folder, MCP_REMOTE_CONFIG_DIR: this.folder, PATH: this.folder },
            stderr: 'pipe'
        });
        createInterface({ input: this.transport.stderr }).on('line', line => {
            console.error(`${era.name} ${era.version}: ${line}`);
            if (!line.startsWith(`${issuer}/auth?`)) return;
            this.pages += 1;
            this.#asked();
            if (this.user) ask('open', line).catch(error => console.error(`the user cannot sign in: ${error.message}`));
        });
        await this.client.connect(this.transport);
    }

    get logins() {
        return library === 'remote' ? this.pages : this.user.logins;
    }

    async tools() {
        return (await this.#signedIn(() => this.client.listTools())).tools.map(tool => tool.name).sort();
    }

    async call(name, args = {}) {
        const result = await this.#signedIn(() => this.client.callTool({ name, arguments: args }));
        return result.content[0].text;
    }

    async whoami() {
        const [name, token, revision, ...scopes] = (await this.call('whoami')).split(' ');
        return { name, token, revision, scopes: scopes.sort() };
    }

    async close() {
        await this.client.close();
        // A client that is not connected yet does not end the process that it has started.
        await this.transport?.close();
        if (this.folder) rmSync(this.folder, { recursive: true, force: true });
    }
}

/** Instances of the proxy with the same port for users that come back wait for each other. */
async function freePort() {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address();
    server.close();
    return String(port);
}

function same(got, wanted) {
    if (!isDeepStrictEqual(got, wanted)) throw new Error(`${JSON.stringify(got)} came instead of ${JSON.stringify(wanted)}`);
}

/** Neither connects nor calls, because the server answers everything with 401. The proxy then waits for the user. */
async function isRefused(era, token) {
    const peer = new Peer(era, { token });
    const attempt = peer.connect().then(() => peer.whoami());
    const waits = peer.asked.then(() => sleep(NO_USER)).then(() => {
        throw new Error('the user does not sign in');
    });
    try {
        await Promise.race([attempt, waits]);
    } catch (error) {
        console.error(`refused: ${error.message}`);
        if (library === 'remote') same(peer.pages, 1);
        else same([...new Set(peer.statuses)], [401]);
        return;
    } finally {
        attempt.catch(() => {});
        await peer.close();
    }
    throw new Error('it is let in');
}

async function fixedToken(era) {
    const peer = new Peer(era, { token: await ask('token', issuer, url) });
    await peer.connect();
    same((await peer.whoami()).name, 'ci');
    await peer.close();
    await isRefused(era, await ask('token', issuer, `${issuer}/other`));
}

async function signsIn(peer, version) {
    const { name, revision, scopes } = await peer.whoami();
    same({ name, revision, scopes }, { name: 'ann', revision: version, scopes: ['notes:read'] });
    same(await peer.tools(), ['put', 'search', 'whoami']);
    same(await peer.call('search', { text: 'tea' }), 'nothing about tea');
    hasSignedIn(peer, 1);
}

/** Returns a remark for the table. */
async function renews(peer, logins, scopes) {
    const before = await peer.whoami();
    await sleep(1000 * age);
    const after = await peer.whoami();
    same({ name: after.name, scopes: after.scopes }, { name: 'ann', scopes });
    if (after.token === before.token) throw new Error('it is still the first token');
    hasSignedIn(peer, logins);
    return library === 'remote' ? EARLY : '';
}

async function stepsUp(peer) {
    same(await peer.call('put', { text: 'tea' }), 'ann saved tea');
    same((await peer.whoami()).scopes, ['notes:read', 'notes:write']);
    hasSignedIn(peer, 2);
}

function hasSignedIn(peer, times) {
    if (peer.logins !== times) throw new Error(`the user has signed in ${peer.logins} times instead of ${times}`);
}

/** Returns the line of a check. */
async function check(era, group, what, work) {
    const abort = new AbortController();
    const late = sleep(CHECK_TIMEOUT, undefined, { signal: abort.signal }).then(() => {
        throw new Error(`not done after ${CHECK_TIMEOUT / 1000} s`);
    });
    let kind = 'ok  ';
    let told;
    try {
        told = await Promise.race([work(), late]);
    } catch (error) {
        kind = 'FAIL';
        told = `${error.name}: ${error.message}`.replaceAll('\n', ' ⏎ ');
        process.exitCode = 1;
    }
    late.catch(() => {});
    abort.abort();
    return `${kind} ${era.name} ${era.version} ${group}: ${what}${told ? ` -- ${told}` : ''}`;
}

async function* play(era) {
    yield check(era, 'refused', 'without a token it is not let in', () => isRefused(era));
    yield check(era, 'refused', 'a fixed token lets it in, but not one for another server', () => fixedToken(era));
    const peer = new Peer(era, { user: new User() });
    const signedIn = () => peer.connect().then(() => signsIn(peer, era.version));
    yield check(era, 'signs in', 'a user signs in, sees the tools and calls them', signedIn);
    const renewed = (logins, scopes) => () => renews(peer, logins, scopes);
    yield check(era, 'refreshes', 'an expired token is renewed without the user', renewed(1, ['notes:read']));
    yield check(era, 'steps up', 'a call that needs more scopes gets a token with them', () => stepsUp(peer));
    const all = renewed(2, ['notes:read', 'notes:write']);
    yield check(era, 'steps up', 'the new token is renewed without the user, with its scopes', all);
    await peer.close();
}

const reports = ERAS.map(era => Array.fromAsync(play(era)));
// The table has the eras in the order of their first lines.
for (const report of reports) console.log((await report).join('\n'));
// Requests that were given up have not reached their time limit yet.
process.exit();
