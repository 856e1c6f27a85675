// What does the library `jose` say about tokens?
//
// `judge.mjs keys` prints new private keys: those of an issuer, and those of strangers.
// `judge.mjs verdicts FILE` prints a line for each token of the file: `accepted`, or why the token is refused. The first line
// of the file says by which rules; `interop/src/bin/verdicts` writes it.

import { readFileSync } from 'node:fs';
import { createLocalJWKSet, errors, exportJWK, generateKeyPair, jwtVerify } from 'jose';

// The name, the algorithm, and more members of the key. Some keys say what they are for.
const KEYS = [
  ['es', 'ES256', {}],
  ['es-alg', 'ES256', { alg: 'ES256', use: 'sig' }],
  ['es384', 'ES384', {}],
  ['rsa', 'RS256', {}],
  ['rsa-rs256', 'RS256', { alg: 'RS256', use: 'sig' }],
  ['rsa-ps256', 'RS256', { alg: 'PS256', key_ops: ['verify'] }],
  ['ed', 'EdDSA', {}],
  ['ed-alg', 'EdDSA', { alg: 'EdDSA' }],
  ['es-enc', 'ES256', { use: 'enc' }],
  ['stranger-es', 'ES256', {}],
  ['stranger-rsa', 'RS256', {}],
  ['stranger-ed', 'EdDSA', {}],
];

async function makeKeys() {
  return Promise.all(
    KEYS.map(async ([kid, algorithm, members]) => {
      const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
      return { ...(await exportJWK(privateKey)), kid, ...members };
    }),
  );
}

async function verify(token, keys, options) {
  try {
    return await jwtVerify(token, keys, options);
  } catch (error) {
    if (error?.code !== errors.JWKSMultipleMatchingKeys.code) throw error;
    // The token does not name its key. The documentation of `jose` says to try each.
    let last = error;
    for await (const key of error) {
      try {
        return await jwtVerify(token, key, options);
      } catch (error) {
        last = error;
      }
    }
    throw last;
  }
}

async function judge(file) {
  const [settings, ...tokens] = readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  const keys = createLocalJWKSet(settings.keys);
  const options = {
    issuer: settings.issuer,
    audience: settings.audience,
    algorithms: settings.algorithms,
    clockTolerance: settings.leeway,
    currentDate: new Date(settings.now * 1000),
    requiredClaims: ['exp'],
  };
  for (const { token } of tokens) {
    const verdict = await verify(token, keys, options).then(
      () => 'accepted',
      (error) => `${error.code ?? error.name}: ${error.message}`,
    );
    console.log(verdict.replaceAll(/\s+/g, ' '));
  }
}

const [command, file] = process.argv.slice(2);
if (command === 'keys') console.log(JSON.stringify(await makeKeys()));
else await judge(file);
