// An identity provider that people and programs sign in to, so that our client can be tested with a certified one:
// `node idp.mjs PORT RESOURCE [OPTION…]` runs the package `oidc-provider` on 127.0.0.1.
//
// RESOURCE is the URL of the MCP server that tokens are for. A token is a JWT (ES256) with this audience and the scopes
// that the client has asked for among `tools`, `notes:read` and `notes:write`. Tokens can also be made for `/other` of this
// origin, where there is not a server: RESOURCE must refuse them. Any name and password sign in; the login page is that of the
// package. A client may register itself. Three are known from the start: `svc` with `svc-secret` and `ci` with `ci-secret`,
// which have no user (the tokens of `ci` live an hour), and `front` with `front-secret`, which is an MCP server that signs
// its own users in here and gets them back at `/auth/callback` of its origin. A client may also be known by the document
// `https://client.example/app.json` about it, which is in this file: no other document is fetched.
//
// It prints one line when it listens and ends when its standard input is closed.
//
//   --life SECONDS   the life of an access token; 3600 by default
//   --dpop-nonce     a proof of possession (DPoP) must hold a nonce of this server
//   --offline-only   refresh tokens only for the scope `offline_access`, which needs `prompt=consent` (OpenID Connect);
//                    by default for every client that registered for them
//   --keep-refresh   a refresh token can be used again; by default each use replaces it, and a second one ends the grant
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Provider, errors } from 'oidc-provider';

const { values: options, positionals: [port, resource] } = parseArgs({
    allowPositionals: true,
    options: {
        life: { type: 'string', default: '3600' },
        'dpop-nonce': { type: 'boolean', default: false },
        'offline-only': { type: 'boolean', default: false },
        'keep-refresh': { type: 'boolean', default: false }
    }
});
const issuer = `http://127.0.0.1:${port}`;
const life = Number(options.life);
if (!port || !resource || !(life > 0)) {
    console.error('usage: node idp.mjs PORT RESOURCE [--life SECONDS] [--dpop-nonce] [--offline-only] [--keep-refresh]');
    process.exit(2);
}

/** A new private key in the form of a JWK. */
function makeKey(alg, type, parameters) {
    const { privateKey } = generateKeyPairSync(type, parameters);
    return { ...privateKey.export({ format: 'jwk' }), alg, kid: alg.toLowerCase(), use: 'sig' };
}

const document = {
    client_id: 'https://client.example/app.json',
    client_name: 'an app with a document',
    application_type: 'native',
    redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none'
};

const provider = new Provider(issuer, {
    fetch: async url => (String(url) === document.client_id ? Response.json(document) : new Response(null, { status: 404 })),
    jwks: { keys: [makeKey('RS256', 'rsa', { modulusLength: 2048 }), makeKey('ES256', 'ec', { namedCurve: 'P-256' })] },
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    clients: [
        ...['svc', 'ci'].map(id => ({
            client_id: id, client_secret: `${id}-secret`, grant_types: ['client_credentials'], response_types: [], redirect_uris: []
        })),
        {
            client_id: 'front',
            client_secret: 'front-secret',
            grant_types: ['authorization_code', 'refresh_token'],
            redirect_uris: [new URL('/auth/callback', resource).href]
        }
    ],
    // A client may ask for more scopes later than those that it names when it registers.
    extraClientMetadata: { properties: ['scope'], validator: (_ctx, _key, _value, metadata) => delete metadata.scope },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    pkce: { required: () => true },
    ttl: {
        AccessToken: life,
        ClientCredentials: (_ctx, _token, client) => (client.clientId === 'ci' ? 3600 : life),
        AuthorizationCode: 60,
        DeviceCode: 600,
        IdToken: 3600,
        Interaction: 600,
        Session: 3600,
        Grant: 24 * 3600,
        RefreshToken: 24 * 3600
    },
    // A refresh token that is used twice ends the whole grant, if each use replaces it.
    rotateRefreshToken: !options['keep-refresh'],
    ...(!options['offline-only'] && { issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token') }),
    // The session of the browser does not end what a client got.
    expiresWithSession: () => false,
    features: {
        devInteractions: { enabled: true },
        registration: { enabled: true },
        registrationManagement: { enabled: true },
        introspection: { enabled: true },
        revocation: { enabled: true },
        deviceFlow: { enabled: true },
        clientCredentials: { enabled: true },
        dPoP: { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => options['dpop-nonce'] },
        clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
        resourceIndicators: {
            enabled: true,
            useGrantedResource: () => true,
            getResourceServerInfo: (_, indicator) => {
                if (![resource, `${issuer}/other`].includes(indicator)) throw new errors.InvalidTarget();
                return {
                    scope: 'tools notes:read notes:write',
                    audience: indicator,
                    accessTokenFormat: 'jwt',
                    accessTokenTTL: life,
                    jwt: { sign: { alg: 'ES256' } }
                };
            }
        }
    }
});
for (const event of ['server_error', 'authorization.error', 'grant.error', 'registration_create.error', 'introspection.error']) {
    provider.on(event, (_, error) => console.error(`${event}: ${error.message} ${error.error_detail ?? error.stack}`));
}

provider.listen(Number(port), '127.0.0.1', () => console.log(`${issuer} makes tokens for ${resource}`));
process.stdin.on('end', () => process.exit(0)).resume();
