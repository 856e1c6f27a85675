// Which servers are in the configuration that the tests of the hub use?
//
// Two with the same names, one of its own, and one that does not start.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FIXTURE, folder, scripted } from './inspector.mjs';

export async function configuration(test) {
    const [, ...moody] = scripted('moody');
    const command = ([command, ...args]) => ({ command, args });
    const file = join(await folder(test), 'mcp.json');
    await writeFile(
        file,
        JSON.stringify({ mcpServers: { first: command([FIXTURE, 'serve']), second: command([FIXTURE, 'serve']), moody: command(moody), broken: command([FIXTURE, 'die']) } }),
    );
    return file;
}
