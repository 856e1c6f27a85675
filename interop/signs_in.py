"""Interop test: our protected server, to which users of Python clients sign in.

    signs_in.py LIBRARY PROGRAM URL AGE ISSUER

LIBRARY is `mcp` (PyPI `mcp` 2.3.0, with its `OAuthClientProvider`) or `fastmcp` (PyPI `fastmcp` 4.1.2, with its `OAuth`).
PROGRAM is our program `interop`: it is the browser of the users, and fetches fixed tokens. URL is the server that
`interop serve-notes` is, AGE the seconds after which a token must have been renewed, and ISSUER is `idp.mjs`. The eras run
at the same time. The twin of signs_in.mjs: the same checks by the same names, one line for each.
"""

import sys
import webbrowser
from contextlib import asynccontextmanager
from subprocess import Popen
from urllib.parse import parse_qs, urlsplit

import anyio
import fastmcp
import httpx2
import mcp
from fastmcp.client.auth import OAuth
from fastmcp.client.transports import StreamableHttpTransport
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

LIBRARY, PROGRAM, URL, AGE, ISSUER = sys.argv[1:6]
ERAS = [("auto", "2026-07-28", "auto"), ("stateless", "2026-07-28", "2026-07-28"), ("handshake", "2025-11-25", "legacy")]
SIGNS_IN = "a user signs in, sees the tools and calls them"
CHECK_TIMEOUT = 60
# The client does not listen there: the user brings back what the identity provider says.
REDIRECT = "http://localhost:19191/callback"


class Memory:
    """Where the library keeps what it gets."""

    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class McpUser(OAuthClientProvider):
    """A user of `mcp`."""

    def __init__(self):
        metadata = OAuthClientMetadata(
            client_name="interop",
            redirect_uris=[REDIRECT],
            grant_types=["authorization_code", "refresh_token"],
            token_endpoint_auth_method="none",
        )
        super().__init__(URL, metadata, Memory(), self.open, self.come_back)
        self.logins, self.back = 0, None

    async def open(self, page):
        self.logins += 1
        self.back = parse_qs(urlsplit(await ask_program("sign-in", page)).query)

    async def come_back(self):
        return AuthorizationCodeResult(**{name: self.back[name][0] for name in ("code", "state", "iss")})


class FastMcpUser(OAuth):
    """A user of `fastmcp`. The library opens the browser, and waits for it to come back."""

    def __init__(self):
        super().__init__(client_name="interop", callback_timeout=CHECK_TIMEOUT)
        self.logins = 0

    async def redirect_handler(self, authorization_url):
        self.logins += 1
        await super().redirect_handler(authorization_url)


class Browser(webbrowser.BaseBrowser):
    def open(self, url, new=0, autoraise=True):
        Popen([PROGRAM, "open", url], stdout=sys.stderr)
        return True


class Bearer(httpx2.Auth):
    """A fixed token."""

    def __init__(self, token):
        self.token = token

    def auth_flow(self, request):
        request.headers["authorization"] = f"Bearer {self.token}"
        yield request


@asynccontextmanager
async def connect(mode, auth=None, hear=None):
    """Connects as a user of the library does. `auth` is a user, a fixed token or nothing."""
    hooks = {"response": [hear] if hear else []}
    if LIBRARY == "fastmcp":
        def factory(**options):
            return httpx2.AsyncClient(event_hooks=hooks, **options)

        transport = StreamableHttpTransport(URL, auth=auth, httpx_client_factory=factory if hear else None)
        async with fastmcp.Client(transport, mode=mode) as client:
            yield client
        return
    auth = Bearer(auth) if isinstance(auth, str) else auth
    async with httpx2.AsyncClient(auth=auth, timeout=CHECK_TIMEOUT, event_hooks=hooks) as http:
        async with mcp.Client(streamable_http_client(URL, http_client=http), mode=mode) as client:
            yield client


async def tools(client):
    listed = await client.list_tools()
    return sorted(tool.name for tool in getattr(listed, "tools", listed))


async def call(client, name, **arguments):
    return (await client.call_tool(name, arguments)).content[0].text


async def whoami(client):
    name, token, revision, *scopes = (await call(client, "whoami")).split(" ")
    return name, token, revision, sorted(scopes)


async def ask_program(*words):
    done = await anyio.run_process([PROGRAM, *words], stderr=sys.stderr)
    return done.stdout.decode().strip()


def same(got, wanted):
    if got != wanted:
        raise AssertionError(f"{got!r} came instead of {wanted!r}")


async def is_refused(mode, token=None):
    """Neither connects nor calls, because the server answers everything with 401."""
    statuses = []

    async def hear(response):
        statuses.append(response.status_code)

    try:
        async with connect(mode, token, hear) as client:
            await call(client, "whoami")
    except Exception as error:
        print(f"refused: {describe(error)}", file=sys.stderr)
    else:
        raise AssertionError("it is let in")
    same(set(statuses), {401})


async def fixed_token(mode):
    async with connect(mode, await ask_program("token", ISSUER, URL)) as client:
        same((await whoami(client))[0], "ci")
    await is_refused(mode, await ask_program("token", ISSUER, f"{ISSUER}/other"))


class Era:
    def __init__(self, name, version, mode):
        self.name, self.version, self.mode = name, version, mode
        self.user = McpUser() if LIBRARY == "mcp" else FastMcpUser()
        self.lines = []

    async def check(self, group, what, work):
        try:
            with anyio.fail_after(CHECK_TIMEOUT):
                await work
            kind, why = "ok  ", ""
        except Exception as error:
            kind, why = "FAIL", f" -- {describe(error)}"
        self.lines.append(f"{kind} {self.name} {self.version} {group}: {what}{why}")

    async def play(self):
        await self.check("refused", "without a token it is not let in", is_refused(self.mode))
        what = "a fixed token lets it in, but not one for another server"
        await self.check("refused", what, fixed_token(self.mode))
        try:
            async with connect(self.mode, self.user) as client:
                await self.play_user(client)
        except Exception as error:
            await self.check("signs in", SIGNS_IN, failed(error))

    async def play_user(self, client):
        await self.check("signs in", SIGNS_IN, self.signs_in(client))
        what = "an expired token is renewed without the user"
        await self.check("refreshes", what, self.renews(client, 1, ["notes:read"]))
        what = "a call that needs more scopes gets a token with them"
        await self.check("steps up", what, self.steps_up(client))
        what = "the new token is renewed without the user, with its scopes"
        await self.check("steps up", what, self.renews(client, 2, ["notes:read", "notes:write"]))

    async def signs_in(self, client):
        same(client.protocol_version, self.version)
        same(await tools(client), ["put", "search", "whoami"])
        name, _, revision, scopes = await whoami(client)
        same((name, revision, scopes), ("ann", self.version, ["notes:read"]))
        same(await call(client, "search", text="tea"), "nothing about tea")
        self.has_signed_in(1)

    async def renews(self, client, logins, scopes):
        _, before, *_ = await whoami(client)
        await anyio.sleep(int(AGE))
        name, after, _, now = await whoami(client)
        same((name, now), ("ann", scopes))
        if after == before:
            raise AssertionError("it is still the first token")
        self.has_signed_in(logins)

    async def steps_up(self, client):
        same(await call(client, "put", text="tea"), "ann saved tea")
        _, _, _, scopes = await whoami(client)
        same(scopes, ["notes:read", "notes:write"])
        self.has_signed_in(2)

    def has_signed_in(self, times):
        if self.user.logins != times:
            raise AssertionError(f"the user has signed in {self.user.logins} times instead of {times}")


async def failed(error):
    raise error


def describe(error):
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(describe(one) for one in error.exceptions)
    return f"{type(error).__name__}: {error}".replace("\n", " ⏎ ")


async def main():
    webbrowser.register("interop", None, Browser(), preferred=True)
    eras = [Era(*era) for era in ERAS]
    async with anyio.create_task_group() as group:
        for era in eras:
            group.start_soon(era.play)
    lines = [line for era in eras for line in era.lines]
    print("\n".join(lines))
    sys.exit(any(line.startswith("FAIL") for line in lines))


anyio.run(main)
