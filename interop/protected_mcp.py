"""A server on the Python SDK 2 that only callers with a token can use: `python protected_mcp.py PORT ISSUER`.

Clients sign in at ISSUER, which is `idp.mjs`. The SDK asks a `TokenVerifier` about each token; the one here checks the
signature with the keys of ISSUER. Its tool says who the caller is, and which token was used.
"""

import sys

import anyio.to_thread
import jwt
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

port, issuer = sys.argv[1:3]
resource = f"http://127.0.0.1:{port}/mcp"


class IssuerKeys(TokenVerifier):
    def __init__(self) -> None:
        self.keys = jwt.PyJWKClient(f"{issuer}/jwks")

    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            key = await anyio.to_thread.run_sync(self.keys.get_signing_key_from_jwt, token)
            claims = jwt.decode(token, key.key, ["ES256"], audience=resource, issuer=issuer)
        except jwt.PyJWTError as error:
            print(f"a token is refused: {error!r}", file=sys.stderr)
            return None
        return AccessToken(
            token=token,
            client_id=claims["client_id"],
            scopes=claims.get("scope", "").split(),
            expires_at=claims["exp"],
            resource=claims["aud"],
            subject=claims["sub"],
            claims=claims,
        )


server = MCPServer(
    "protected",
    token_verifier=IssuerKeys(),
    auth=AuthSettings(
        issuer_url=issuer,
        resource_server_url=resource,
        required_scopes=["tools"],
        validate_token_resource=True,
    ),
)


@server.tool(structured_output=False, annotations=ToolAnnotations(readOnlyHint=True))
def whoami() -> str:
    """Returns the name of the caller and that of the token."""
    token = get_access_token()
    return f"{token.subject} {token.claims['jti']}"


server.run("streamable-http", host="127.0.0.1", port=int(port))
