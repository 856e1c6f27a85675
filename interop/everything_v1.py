"""Interop test: the example `everything`, driven by the Python client before its second version (PyPI `mcp` 1.30.0).

    everything_v1.py stdio -- CMD [ARGS...] | http URL | sse URL

Runs the checks of everything_checks.py for `handshake` (2025-11-25), the only era and the only revision the library offers.
"""

from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import ClientSession, McpError, StdioServerParameters, stdio_client, types
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

import everything_checks
from everything_checks import Peer, Refused, reporting, wire

ERAS = {"handshake": (None, "2025-11-25")}
NOT_SPOKEN = [("stateless", "2026-07-28", "mcp 1.30.0 knows no revision after 2025-11-25")]


TRANSPORTS = {
    "stdio": lambda target: stdio_client(StdioServerParameters(command=target.command, args=target.arguments)),
    "http": lambda target: streamable_http_client(target.url),
    "sse": lambda target: sse_client(target.url),
}


async def asked(request):
    """The wire form of a result, or `Refused`."""
    try:
        return wire(await request)
    except McpError as error:
        raise Refused(error.error.code, error.error.message) from error


class McpV1(Peer):
    """The library's `ClientSession`."""

    async def hear(self, message):
        if isinstance(message, Exception):  # the transport's, or an answer to a call that was taken back
            self.faults.append(f"{type(message).__name__}: {message}")
        elif isinstance(message, types.ServerNotification):
            self.heard(wire(message))
        # Anything else is a question, which the session has answered.

    async def elicited(self, _context, params):
        return types.ElicitResult.model_validate(self.answered("elicit", wire(params)))

    async def sampled(self, _context, params):
        return types.CreateMessageResult.model_validate(self.answered("sample", wire(params)))

    async def roots(self, _context):
        return types.ListRootsResult.model_validate(self.answered("roots", {}))

    @classmethod
    @asynccontextmanager
    async def connect(cls, target, _mode):
        peer = cls()
        peer.wire, transport = target.wire, TRANSPORTS[target.wire](target)
        who = types.Implementation(name="interop", version="1.0.0")
        options = {
            "client_info": who,
            "message_handler": peer.hear,
            "elicitation_callback": peer.elicited,
            "sampling_callback": peer.sampled,
            "list_roots_callback": peer.roots,
        }
        # Streamable HTTP has a third thing, a function that tells the id of the session.
        async with transport as (reading, writing, *_):
            async with ClientSession(reading, writing, **options) as peer.session:
                peer.greeting = wire(await peer.session.initialize())
                peer.version = peer.greeting["protocolVersion"]
                yield peer

    async def info(self):
        return self.greeting

    async def page(self, kind, cursor):
        session = self.session
        lists = {
            "tools": session.list_tools,
            "resources": session.list_resources,
            "templates": session.list_resource_templates,
            "prompts": session.list_prompts,
        }
        return await asked(lists[kind](params=types.PaginatedRequestParams(cursor=cursor)))

    async def call(self, name, arguments, progress=None):
        callback = reporting(progress)
        return await asked(self.session.call_tool(name, arguments, progress_callback=callback))

    async def cancelled(self, name, arguments, meanwhile):
        """Starts a call, does something, then takes the call back. The library does not tell the server by itself, and
        keeps to itself which id a call gets: it counts."""
        ending = []

        async def run():
            try:
                ending.append(await self.call(name, arguments))
            except Refused as error:
                ending.append(error)

        async with anyio.create_task_group() as tasks:
            request_id = self.session._request_id
            tasks.start_soon(run)
            while self.session._request_id == request_id:
                await anyio.lowlevel.checkpoint()
            await meanwhile()
            params = types.CancelledNotificationParams(requestId=request_id, reason="interop")
            await self.session.send_notification(
                types.ClientNotification(types.CancelledNotification(params=params))
            )
            await self.fence()
            assert ending == [], f"expected no answer to a cancelled call, got {ending}"
            tasks.cancel_scope.cancel()

    async def read(self, uri):
        return await asked(self.session.read_resource(uri))

    async def prompt(self, name, arguments):
        return await asked(self.session.get_prompt(name, arguments))

    async def complete(self, reference, argument, value):
        return await asked(self.session.complete(refer(reference), {"name": argument, "value": value}))

    async def request(self, method, params):
        request = types.Request[dict[str, Any], str](method=method, params=params)
        return await asked(self.session.send_request(request, types.Result))

    async def ping(self):
        return await asked(self.session.send_ping())

    async def set_level(self, level):
        await asked(self.session.set_logging_level(level))

    async def subscribe(self, uri):
        await asked(self.session.subscribe_resource(uri))

    async def unsubscribe(self, uri):
        await asked(self.session.unsubscribe_resource(uri))


def refer(reference):
    if "://" in reference:
        return types.ResourceTemplateReference(type="ref/resource", uri=reference)
    return types.PromptReference(type="ref/prompt", name=reference)


if __name__ == "__main__":
    everything_checks.main(ERAS, McpV1.connect, not_spoken=NOT_SPOKEN)
