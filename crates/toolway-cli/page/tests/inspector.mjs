// How does a test get an inspector, and servers for it to look into?
//
// Each test starts programs of its own and ends them by their process id. Ports are chosen by the system.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const HERE = dirname(fileURLToPath(import.meta.url));
const REPOSITORY = join(HERE, '../../../..');

export const COMMAND = process.env.TOOLWAY_COMMAND ?? join(REPOSITORY, 'target/debug/toolway');
export const FIXTURE = process.env.TOOLWAY_FIXTURE ?? join(REPOSITORY, 'target/debug/examples/cli-fixture');
/** The folder with npm's server-everything, where `cargo xtask page --test` has installed it. */
export const EVERYTHING = process.env.TOOLWAY_EVERYTHING;

/** Long enough for a machine with other work; only a test that fails waits this long. */
export const LONGEST_WAIT = Number(process.env.TOOLWAY_LONGEST_WAIT ?? 60_000);

/** The fixture on a pipe. */
export const ON_PIPE = ['--', FIXTURE, 'serve'];

/** The words that start one of the programs in `servers/`. */
export function scripted(name, ...words) {
    return ['--', process.execPath, join(HERE, 'servers', `${name}.mjs`), ...words];
}

/** Starts `toolway inspect`, and ends it with the test. */
export async function inspect(test, words, { env, port } = {}) {
    const child = spawn(COMMAND, ['inspect', '--json', '--no-open', '--port', String(port ?? (await freePort())), ...words], {
        stdio: ['pipe', 'pipe', 'pipe'],
        env: { ...process.env, ...env },
    });
    endWith(test, child);
    const terminal = new Lines(child.stderr);
    const links = new Lines(child.stdout);
    const nextLink = async () => JSON.parse(await links.next((line) => line.startsWith('{'), () => terminal.all.join('\n'), links.all.length)).url;
    const url = await nextLink();
    return {
        url,
        origin: new URL(url).origin,
        pid: child.pid,
        terminal,
        /** Presses Enter in the terminal and reads the new link. */
        newLink: () => {
            const link = nextLink();
            child.stdin.write('\n');
            return link;
        },
        stop: async () => {
            const ended = once(child, 'exit');
            child.kill('SIGKILL');
            await ended;
        },
    };
}

/** Starts the fixture over HTTP; returns its address. */
export async function fixtureOverHttp(test, ...words) {
    const port = await freePort();
    const child = spawn(FIXTURE, ['serve', '--http', `127.0.0.1:${port}`, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
    endWith(test, child);
    const said = new Lines(child.stderr);
    child.stdout.resume();
    await said.next((line) => line.includes(String(port)), () => said.all.join('\n'));
    return { url: `http://127.0.0.1:${port}/mcp`, port, child };
}

/** A folder that is removed after the test. */
export async function folder(test) {
    const path = await mkdtemp(join(tmpdir(), 'toolway-page-'));
    test.after(() => rm(path, { recursive: true, force: true }));
    return path;
}

export async function freePort() {
    const server = createServer();
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address();
    await new Promise((resolve) => server.close(resolve));
    return port;
}

/** Runs a program to its end. */
export async function runToEnd(program, words, { env } = {}) {
    const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
    const [stdout, stderr] = [[], []];
    child.stdout.on('data', (piece) => stdout.push(piece));
    child.stderr.on('data', (piece) => stderr.push(piece));
    const [code] = await once(child, 'close');
    return { code, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() };
}

function endWith(test, child) {
    test.after(async () => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = once(child, 'exit');
        child.kill('SIGTERM');
        const late = setTimeout(() => child.kill('SIGKILL'), 3000);
        await ended;
        clearTimeout(late);
    });
}

/** The lines of a stream so far, and those to come. */
class Lines {
    all = [];
    #waiting = [];
    #ended = false;

    constructor(stream) {
        const lines = createInterface({ input: stream });
        lines.on('line', (line) => {
            this.all.push(line);
            this.#look();
        });
        lines.on('close', () => {
            this.#ended = true;
            this.#look();
        });
    }

    /** The first line from number `from` on that fits; fails with `more()` when the stream ends without it. */
    next(fits, more = () => '', from = 0) {
        return new Promise((resolve, reject) => {
            const late = setTimeout(() => reject(new Error(`no such line came: ${this.all.join('\n')}\n${more()}`)), LONGEST_WAIT);
            const over = (settle) => (value) => {
                clearTimeout(late);
                settle(value);
            };
            this.#waiting.push({ fits, more, from, resolve: over(resolve), reject: over(reject) });
            this.#look();
        });
    }

    #look() {
        this.#waiting = this.#waiting.filter(({ fits, more, from, resolve, reject }) => {
            const found = this.all.slice(from).find(fits);
            if (found !== undefined) resolve(found);
            else if (this.#ended) reject(new Error(`the program has ended: ${this.all.join('\n')}\n${more()}`));
            else return true;
            return false;
        });
    }
}
