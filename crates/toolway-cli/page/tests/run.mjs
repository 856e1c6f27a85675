// Which browser tests are run, and by what?
//
// By Node's own test runner, each file in a process of its own, at most as many at a time as there are cores. A word
// chooses the files whose names contain it, or, when there are none, the tests whose names contain it.

import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = dirname(fileURLToPath(import.meta.url));
const only = process.argv[2];
const all = readdirSync(HERE).filter((name) => name.endsWith('.test.mjs')).sort();
const named = only === undefined ? all : all.filter((name) => name.includes(only));
const files = (named.length > 0 ? named : all).map((name) => join(HERE, name));
const words = ['--test', `--test-concurrency=${Math.min(4, availableParallelism())}`, '--test-reporter=spec', '--test-timeout=300000'];
if (only !== undefined && named.length === 0) words.push(`--test-name-pattern=${only}`);
const child = spawn(process.execPath, [...words, ...files], { stdio: 'inherit' });
child.on('exit', (code) => process.exit(code ?? 1));
