"""A FastMCP server that only callers with a token can use: `python protected_fastmcp.py MODE PORT ISSUER`.

ISSUER is `idp.mjs`. With the mode `jwt`, clients sign in there, and this server checks their tokens (`JWTVerifier`). With
the mode `proxy`, clients sign in at this server, which sends the user on to ISSUER and makes tokens of its own
(`OAuthProxy`). Its tool says who the caller is, and which token was used.
"""

import sys

from fastmcp import FastMCP
from fastmcp.server.auth import JWTVerifier, OAuthProxy, RemoteAuthProvider
from fastmcp.server.dependencies import get_access_token
from key_value.aio.stores.memory import MemoryStore
from pydantic import AnyHttpUrl

mode, port, issuer = sys.argv[1:4]
origin = f"http://127.0.0.1:{port}"
verifier = JWTVerifier(
    jwks_uri=f"{issuer}/jwks",
    issuer=issuer,
    audience=f"{origin}/mcp",
    algorithm="ES256",
    required_scopes=["tools"],
)
if mode == "jwt":
    auth = RemoteAuthProvider(verifier, authorization_servers=[AnyHttpUrl(issuer)], base_url=origin)
else:
    auth = OAuthProxy(
        upstream_authorization_endpoint=f"{issuer}/auth",
        upstream_token_endpoint=f"{issuer}/token",
        upstream_client_id="front",
        upstream_client_secret="front-secret",
        token_verifier=verifier,
        base_url=origin,
        # By default it is a file in the user's home.
        client_storage=MemoryStore(),
    )
server = FastMCP("protected", auth=auth)


@server.tool(output_schema=None, annotations={"readOnlyHint": True})
def whoami() -> str:
    """Returns the name of the caller and that of the token."""
    token = get_access_token()
    return f"{token.claims['sub']} {token.claims['jti']}"


server.run("http", host="127.0.0.1", port=int(port), path="/mcp", show_banner=False)
