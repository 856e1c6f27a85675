// A server on the TypeScript SDK 2 that only callers with a token can use: `node protected_v2.mjs PORT ISSUER`.
//
// Clients sign in at ISSUER, which is `idp.mjs`. `requireBearerAuth` of the SDK stands before the server; its verifier
// checks the signature with the keys of ISSUER. Its tool says who the caller is, and which token was used.
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
    McpServer, OAuthError, OAuthErrorCode, createMcpHandler, getOAuthProtectedResourceMetadataUrl, oauthMetadataResponse,
    requireBearerAuth
} from '@modelcontextprotocol/server';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as z from 'zod/v4';

const [port, issuer] = process.argv.slice(2);
const resource = new URL(`http://127.0.0.1:${port}/mcp`);
const keys = createRemoteJWKSet(new URL('/jwks', issuer));

const verifier = {
    async verifyAccessToken(token) {
        const { payload } = await jwtVerify(token, keys, { issuer, audience: resource.href, algorithms: ['ES256'] }).catch(error => {
            throw new OAuthError(OAuthErrorCode.InvalidToken, error.message);
        });
        return {
            token,
            clientId: payload.client_id,
            scopes: payload.scope?.split(' ') ?? [],
            expiresAt: payload.exp,
            resource: new URL(payload.aud),
            extra: { subject: payload.sub, id: payload.jti }
        };
    }
};
const requiredScopes = ['tools'];
const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(resource);
const gate = requireBearerAuth({ verifier, requiredScopes, resourceMetadataUrl, expectedResource: resource });

function build() {
    const server = new McpServer({ name: 'protected', version: '1.0.0' });
    const description = 'Returns the name of the caller and that of the token.';
    server.registerTool('whoami', { description, inputSchema: z.object({}), annotations: { readOnlyHint: true } }, (_, ctx) => {
        const { subject, id } = ctx.http.authInfo.extra;
        return { content: [{ type: 'text', text: `${subject} ${id}` }] };
    });
    return server;
}

const handler = createMcpHandler(build);
// The SDK serves a copy of the document of ISSUER, so it has to be read first.
const oauthMetadata = await fetch(new URL('/.well-known/oauth-authorization-server', issuer)).then(reply => reply.json());
const metadata = { oauthMetadata, resourceServerUrl: resource, scopesSupported: requiredScopes, dangerouslyAllowInsecureIssuerUrl: true };

async function serve(request) {
    const document = oauthMetadataResponse(request, metadata);
    if (document) return document;
    if (new URL(request.url).pathname !== resource.pathname) return new Response(null, { status: 404 });
    const caller = await gate(request);
    return caller instanceof Response ? caller : handler.fetch(request, { authInfo: caller });
}

createServer(toNodeHandler({ fetch: serve })).listen(Number(port), '127.0.0.1');
