// How does a test open the page, and what does it watch while the page is used?
//
// One browser serves all tests of a file; each page has a context of its own, so no test sees the storage of another.
// A page that asks another origin for anything, runs a foreign script, opens a dialog or throws fails its test.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, delimiter, join } from 'node:path';
import { after } from 'node:test';
import { chromium } from 'playwright-core';
import { LONGEST_WAIT } from './inspector.mjs';

const EXECUTABLE = program(process.env.TOOLWAY_CHROMIUM || 'chromium');
/** While working on the page: a folder with `page.js` and `page.css` that are newer than the command. */
const DIST = process.env.TOOLWAY_PAGE_DIST;
const ARGUMENTS = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--font-render-hinting=none',
];
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The path of a program that may be named without one. */
function program(name) {
    if (name.includes('/')) return name;
    const folders = (process.env.PATH ?? '').split(delimiter);
    return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? name;
}

let launched = null;

function browser() {
    launched ??= chromium.launch({ executablePath: EXECUTABLE, args: ARGUMENTS });
    return launched;
}

after(async () => {
    if (launched !== null) await (await launched).close();
});

/** Opens the inspector's link in a new context and waits until the page is in use. */
export async function open(test, inspector, { until = 'ready', ...options } = {}) {
    const context = await (await browser()).newContext({
        viewport: { width: 1280, height: 800 },
        deviceScaleFactor: 1,
        locale: 'en-GB',
        timezoneId: 'UTC',
        reducedMotion: 'reduce',
        colorScheme: 'light',
        permissions: ['clipboard-read', 'clipboard-write'],
        acceptDownloads: true,
        ...options,
    });
    await context.addInitScript({ content: AXE });
    if (DIST) await context.route(/page\.(js|css)$/, (route) => newest(route));
    const page = await context.newPage();
    page.setDefaultTimeout(LONGEST_WAIT);
    const seen = watch(page, inspector.origin);
    test.after(async () => {
        await context.close();
        seen.check();
    });
    await page.goto(inspector.url);
    const shown = new View(page, inspector, seen);
    if (until !== null) await shown.state('page', until);
    return shown;
}

/** Replaces a file of the page by the one in the folder; headers stay, so that the policy holds. */
async function newest(route) {
    const response = await route.fetch();
    await route.fulfill({ response, path: join(DIST, basename(new URL(route.request().url()).pathname)) });
}

/** What a page may not do, as it happens. */
function watch(page, origin) {
    const foreign = [];
    const broken = [];
    const allowed = new Set();
    page.on('request', (request) => {
        const { protocol, origin: asked } = new URL(request.url());
        if (protocol !== 'blob:' && asked !== origin) foreign.push(request.url());
    });
    page.on('pageerror', (error) => broken.push(`error: ${error.message}`));
    page.on('dialog', (dialog) => {
        broken.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
    });
    page.on('console', (message) => {
        if (/Content Security Policy|Trusted|violat/i.test(message.text())) broken.push(message.text());
    });
    page.on('popup', (popup) => foreign.push(`popup ${popup.url()}`));
    return {
        foreign,
        broken,
        allow: (problem) => allowed.add(problem),
        check: () => {
            assert.deepEqual(foreign, [], 'requests to another origin');
            assert.deepEqual(broken.filter((problem) => !allowed.has(problem)), [], 'what the page may not do');
        },
    };
}

/** The page, as a test speaks of it. */
export class View {
    constructor(page, inspector, seen) {
        this.page = page;
        this.inspector = inspector;
        this.seen = seen;
    }

    /** The element with this `data-testid`. */
    at(id) {
        return this.page.getByTestId(id);
    }

    /** Elements whose `data-testid` begins so. */
    starting(id) {
        return this.page.locator(`[data-testid^="${id}"]`);
    }

    press(id) {
        return this.at(id).first().click();
    }

    key(...keys) {
        return keys.reduce((before, key) => before.then(() => this.page.keyboard.press(key)), Promise.resolve());
    }

    type(text) {
        return this.page.keyboard.type(text);
    }

    fill(id, text) {
        return this.at(id).fill(text);
    }

    /** Waits until the element has one of these states; returns the one that it has. */
    async state(id, ...wanted) {
        const any = wanted.map((state) => `[data-testid="${id}"][data-state="${state}"]`).join(', ');
        const found = this.page.locator(any).first();
        try {
            await found.waitFor({ state: 'attached' });
        } catch {
            const is = await this.at(id).first().getAttribute('data-state', { timeout: 500 }).catch(() => 'absent');
            const text = (await this.page.locator('body').innerText()).slice(0, 1500);
            assert.fail(`${id} is ${is}, not ${wanted.join(' or ')}\n${text}`);
        }
        return found.getAttribute('data-state');
    }

    /** Waits for an element, and returns its text. */
    async text(id) {
        const element = this.at(id).first();
        await element.waitFor();
        return (await element.innerText()).trim();
    }

    /** Waits until the text of the element fits; returns it. */
    async says(id, pattern) {
        const wanted = this.at(id).filter({ hasText: pattern }).first();
        try {
            await wanted.waitFor();
        } catch {
            const is = await this.at(id).allInnerTexts();
            assert.fail(`${id} says ${JSON.stringify(is)}, not ${pattern}`);
        }
        return (await wanted.innerText()).trim();
    }

    async gone(id) {
        await this.at(id).first().waitFor({ state: 'detached' });
    }

    /** Waits for the connection and its lists. */
    async ready() {
        await this.state('connection', 'ready');
    }

    /** Shows a tool and waits for its form. */
    async tool(name) {
        await this.press(`tool-${name}`);
        await this.says('element-name', exactly(name));
        await this.state('call-form', 'fits', 'differs');
    }

    /** Presses Run; returns the state in which the call ends, or stands still. */
    async run(...wanted) {
        await this.press('run');
        return this.ends(...wanted);
    }

    ends(...wanted) {
        return this.state('call-state', ...(wanted.length > 0 ? wanted : ['ok']));
    }

    /** Opens the only frame that a filter lets through. */
    async openFrame(filter) {
        await this.fill('frame-filter', filter);
        await this.says('frame-count', /^1 of/);
        await this.starting('frame-').and(this.page.getByRole('row')).first().click();
        await this.at('frame-detail').waitFor();
    }

    /** Shows a tab of the drawer. */
    async drawer(tab) {
        await this.press(`drawer-${tab}`);
        await this.state('drawer', tab);
    }

    clipboard() {
        return this.page.evaluate(() => navigator.clipboard.readText());
    }

    /** The number of elements in the document. */
    nodes() {
        return this.page.evaluate(() => document.querySelectorAll('*').length);
    }

    /** What axe-core has to say about the page as it is now, by all rules or by those named. */
    async violations(...rules) {
        const found = await this.page.evaluate((rules) => {
            const some = rules.length > 0 ? { runOnly: { type: 'rule', values: rules } } : {};
            return globalThis.axe.run(document, { resultTypes: ['violations'], ...some }).then((results) => results.violations);
        }, rules);
        return found.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 5).map((node) => `${node.target.join(' ')} ${node.any[0]?.message ?? ''}`).join(' | ')}`);
    }

    theme(name) {
        return this.page.evaluate((name) => {
            document.documentElement.dataset.theme = name;
        }, name);
    }
}

export function exactly(text) {
    return new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`);
}
