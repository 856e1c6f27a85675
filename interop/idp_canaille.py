"""A second identity provider, on other code than `idp.mjs`: `python idp_canaille.py PORT` runs the package `canaille` on
127.0.0.1, in memory.

It differs in what our client and server must cope with:

- Tokens are not made for a URL, because it ignores the parameter `resource` (RFC 8707). A token is for the clients in the
  audience of its client, and only these can ask if it is valid (RFC 7662). The protected server is the client
  `notes-server`.
- Tokens of users are signed (RS256), but have no scopes. They have `sub` only with the scope `openid`, and `groups` only
  with the scope `groups`. Tokens of programs are not signed. Tokens have no `jti`: two of one second can be equal.
- A refresh token expires together with its access token.
- A client that wants no secret gets one, and needs it to revoke tokens.
- A redirect must be exactly the registered one, including the port.

The user is `ann` with the password `x`, in the group `notes:write`. Clients may register themselves. An administrator then
has to add `notes-server` to the audience of each; here this happens at once, except for the client with the name
`stranger`. Two clients are known from the start: `ci` with `ci-secret`, whose tokens are for `notes-server`, and `other` with
`other-secret`, whose tokens are not. Both get tokens for a user with the password, and for themselves without a user.

The access token of a login lives 10 seconds, one that replaces it 3 seconds, and those of `ci` and `other` an hour.

It prints one line when it listens and ends when its standard input is closed.
"""

import sys
import threading
from datetime import datetime, timezone

from blinker import signal
from canaille import create_app
from canaille.app import models
from canaille.backends import Backend
from werkzeug.serving import make_server

port = int(sys.argv[1])
app = create_app(
    {
        "SECRET_KEY": "a key for cookies, of a server that ends soon",
        "SERVER_NAME": f"127.0.0.1:{port}",
        "PREFERRED_URL_SCHEME": "http",
        "CANAILLE": {"DATABASE": "memory", "JAVASCRIPT": False, "HTMX": False},
        # OpenID Connect leaves the nonce to the client if it gets a code, and ours has PKCE.
        "CANAILLE_OIDC": {"DYNAMIC_CLIENT_REGISTRATION_OPEN": True, "REQUIRE_NONCE": False},
        "OAUTH2_TOKEN_EXPIRES_IN": {
            "authorization_code": 10,
            "refresh_token": 3,
            "password": 3600,
            "client_credentials": 3600,
        },
    }
)


def add_client(client_id, secret, audience, grant_types=()):
    """Adds a client as an administrator does. Its tokens are for itself and for the audience."""
    client = models.Client(
        client_id=client_id,
        client_name=client_id,
        client_secret=secret,
        client_id_issued_at=datetime.now(timezone.utc),
        grant_types=list(grant_types),
        token_endpoint_auth_method="client_secret_basic",
        # As the page for administrators proposes; without it, tokens are signed with RS512.
        id_token_signed_response_alg="RS256",
    )
    # It must exist before it can be part of an audience.
    Backend.instance.save(client)
    client.audience = [client, *audience]
    Backend.instance.save(client)
    return client


with app.app_context(), Backend.instance.session():
    ann = models.User(user_name="ann", formatted_name="Ann Ash", family_name="Ash", password="x")
    Backend.instance.save(ann)
    Backend.instance.save(models.Group(display_name="notes:write", members=[ann]))
    # A secret with characters that must be encoded before they are sent.
    notes_server = add_client("notes-server", "a b+c/d:e%é", [])
    grant_types = ["password", "client_credentials"]
    add_client("ci", "ci-secret", [notes_server], grant_types)
    add_client("other", "other-secret", [], grant_types)


def widen_audience(client, **_):
    """Makes the tokens of a client that has registered itself for the protected server, too."""
    if client.audience and client.client_name != "stranger" and notes_server not in client.audience:
        client.audience = [*client.audience, notes_server]


signal("before_client_save").connect(widen_audience)
lock = threading.Lock()


def one_at_a_time(environ, start_response):
    """Runs one request at a time: the data in memory is not made for threads."""
    with lock:
        return app(environ, start_response)


# It has threads nevertheless, because a connection may be open without a request.
server = make_server("127.0.0.1", port, one_at_a_time, threaded=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"http://127.0.0.1:{port} signs in ann", flush=True)
sys.stdin.read()
