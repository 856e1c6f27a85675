"""Interop test: drives an MCP server with the official Python client (PyPI `mcp` 2.3.0).

    client.py stdio -- CMD [ARGS...]
    client.py http URL

For each era the library knows - `stateless` (pinned to 2026-07-28), `handshake` (`initialize`, must
settle on 2025-11-25) and `auto` (the library's default: probe, must settle on 2026-07-28) - it connects
and checks the negotiated version, the definition of the tool `add`, a good call, a bad call, an unknown
tool, `ping` (handshake only: 2026-07-28 has none), that the transport saw no error (such as a stray line
on stdout), and that closing is prompt.

One line per check: `ok   <era> <what>` or `FAIL <era> <what>: <expected vs got>`. The library does every
era on both transports, so nothing is skipped, and all checks run even if one fails. Exit code 1 if any
failed, 2 on bad usage; a hard stop after 60 s.
"""

import os
import re
import sys
import threading
import time
from inspect import isawaitable

import anyio
from mcp import Client, MCPError, StdioServerParameters

# era -> (`mode` of the library's client, version that must be negotiated). The library cannot pin a
# revision of the handshake: "legacy" offers 2025-11-25, and the version check makes that a pin.
ERAS = {
    "stateless": ("2026-07-28", "2026-07-28"),
    "handshake": ("legacy", "2025-11-25"),
    "auto": ("auto", "2026-07-28"),
}
# The argument `a` by its name - `a`, 'a', "a", /a, a: - as opposed to the English article.
NAMES_A = re.compile(r"""[`'"/.]a\b|(^|\s)a(:|$)""", re.MULTILINE)
REQUEST_TIMEOUT, ERA_TIMEOUT, HARD_TIMEOUT = 5, 16, 60  # seconds

reported, failed = set(), False


def report(era, what, problem=None):
    global failed
    failed = failed or problem is not None
    reported.add((era, what))
    print(f"ok   {era} {what}" if problem is None else f"FAIL {era} {what}: {' '.join(problem.split())}", flush=True)


def describe(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    code = f" {error.code}" if isinstance(error, MCPError) else ""
    return f"{type(error).__name__}{code}: {error}"


async def call(client, name, arguments):
    """A tool call as one comparable value: a result's error flag and first block, or a protocol error's code."""
    try:
        result = await client.call_tool(name, arguments)
    except MCPError as error:
        return f"protocol error {error.code}"
    block = result.content[0] if result.content else None
    return bool(result.is_error), getattr(block, "type", None), getattr(block, "text", None)


def table(era, client, version):
    """Rows of: what is checked, the expected value, the check (which may be async)."""
    add = None

    async def discover():
        # A pinned client never asks for this itself. Checked last, so that it starts as such a client does.
        supported = (await client.session.send_discover(version)).get("supportedVersions")
        return version if version in (supported or ()) else supported

    async def find_add():
        nonlocal add
        tools, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor)
            tools, cursor = tools + page.tools, page.next_cursor
            if cursor is None:
                break
        add = next((tool for tool in tools if tool.name == "add"), None)
        return add.name if add else [tool.name for tool in tools]

    def argument(name):
        schema = add.input_schema["properties"][name]
        return schema.get("type"), schema.get("description")

    async def bad_call():
        result = await call(client, "add", {"a": "x", "b": 3})
        named = isinstance(result, tuple) and NAMES_A.search(result[2] or "")
        return (result[0], "a text naming `a`") if named else result

    async def ping():
        return (await client.session.send_ping()).model_dump(exclude_none=True)

    yield "negotiated version", version, lambda: client.protocol_version
    yield "tools/list has add", "add", find_add
    yield "add: description", "Add two numbers.", lambda: add.description
    yield "add: inputSchema a", ("number", "First addend."), lambda: argument("a")
    yield "add: inputSchema b", ("number", "Second addend."), lambda: argument("b")
    yield "add: inputSchema required", ["a", "b"], lambda: add.input_schema.get("required")
    yield "add: inputSchema additionalProperties", False, lambda: add.input_schema.get("additionalProperties")
    yield "add: 2 + 3", (False, "text", "5"), lambda: call(client, "add", {"a": 2, "b": 3})
    yield "add: bad argument", (True, "a text naming `a`"), bad_call
    yield "unknown tool", "protocol error -32602", lambda: call(client, "no_such_tool", {})
    if era == "handshake":
        yield "ping", {}, ping
    else:
        yield "server/discover offers the version", version, discover


async def run_era(era, target):
    mode, version = ERAS[era]
    faults = []

    async def watch(message):
        if isinstance(message, Exception):  # the transport's: a stray line on stdout, a broken frame
            faults.append(describe(message))

    async with Client(target, mode=mode, read_timeout_seconds=REQUEST_TIMEOUT, message_handler=watch) as client:
        report(era, "connect")
        for what, expected, check in table(era, client, version):
            try:
                got = check()
                got = await got if isawaitable(got) else got
                report(era, what, None if got == expected else f"expected {expected!r}, got {got!r}")
            except Exception as error:
                report(era, what, f"expected {expected!r}, got {describe(error)}")
        report(era, "no transport errors", f"expected none, got {faults}" if faults else None)
        closing = time.monotonic()
    # The library kills a stdio server that is still there 2 s after its stdin was closed.
    took = time.monotonic() - closing
    report(era, "close", None if took < 1.9 else f"expected under 1.9 s, took {took:.1f} s")


async def run(target):
    for era, (_, version) in ERAS.items():
        why = f"not done within {ERA_TIMEOUT} s"
        with anyio.move_on_after(ERA_TIMEOUT):
            try:
                await run_era(era, target)
            except Exception as error:  # connecting failed, or the transport broke down
                why = describe(error)
        for what in ["connect", *(row[0] for row in table(era, None, version)), "no transport errors", "close"]:
            if (era, what) not in reported:
                report(era, what, f"did not complete: {why}")


def hard_stop():
    report("all", "timeout", f"expected to be done in {HARD_TIMEOUT} s; the checks not shown did not run")
    os._exit(1)


if __name__ == "__main__":
    args = sys.argv[1:]
    if len(args) == 2 and args[0] == "http":
        target = args[1]
    elif len(args) > 2 and args[:2] == ["stdio", "--"]:
        target = StdioServerParameters(command=args[2], args=args[3:])
    else:
        sys.exit(print("usage: client.py stdio -- CMD [ARGS...] | client.py http URL", file=sys.stderr) or 2)
    watchdog = threading.Timer(HARD_TIMEOUT, hard_stop)
    watchdog.daemon = True
    watchdog.start()
    anyio.run(run, target)
    sys.exit(int(failed))
