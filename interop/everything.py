"""Interop test: the example `everything`, driven by the official Python client (PyPI `mcp` 2.3.0).

    everything.py stdio -- CMD [ARGS...] | http URL | sse URL

Runs the checks of everything_checks.py for each era the library knows: `stateless` (pinned to 2026-07-28), `handshake`
(2025-11-25) and `auto` (the library's default: probe, must settle on 2026-07-28).
"""

from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.types import (
    CreateMessageResult,
    ElicitResult,
    Implementation,
    ListRootsResult,
    PromptReference,
    Request,
    ResourceTemplateReference,
)
from pydantic import TypeAdapter

import everything_checks
from everything_checks import Peer, Refused, reporting, wire

# The library cannot pin a revision of the handshake: "legacy" offers 2025-11-25, and the version check makes that a pin.
ERAS = {
    "stateless": ("2026-07-28", "2026-07-28"),
    "handshake": ("legacy", "2025-11-25"),
    "auto": ("auto", "2026-07-28"),
}


# What the library takes for a server: a command, a URL for Streamable HTTP, or any other transport.
SERVERS = {
    "stdio": lambda target: StdioServerParameters(command=target.command, args=target.arguments),
    "http": lambda target: target.url,
    "sse": lambda target: sse_client(target.url),
}


async def asked(request):
    """The wire form of a result, or `Refused`."""
    try:
        return wire(await request)
    except MCPError as error:
        raise Refused(error.code, error.message) from error


class Mcp(Peer):
    """The library's `Client`."""

    async def hear(self, message):
        if isinstance(message, Exception):  # the transport's: a stray line on stdout, a broken frame
            self.faults.append(f"{type(message).__name__}: {message}")
        else:
            self.heard(wire(message))

    async def elicited(self, _context, params):
        return ElicitResult.model_validate(self.answered("elicit", wire(params)))

    async def sampled(self, _context, params):
        return CreateMessageResult.model_validate(self.answered("sample", wire(params)))

    async def roots(self, _context):
        return ListRootsResult.model_validate(self.answered("roots", {}))

    @classmethod
    @asynccontextmanager
    async def connect(cls, target, mode):
        peer = cls()
        peer.wire, server = target.wire, SERVERS[target.wire](target)
        who = Implementation(name="interop", version="1.0.0")
        # In 2026-07-28 the library answers with them as well, and calls again.
        answers = {
            "elicitation_callback": peer.elicited,
            "sampling_callback": peer.sampled,
            "list_roots_callback": peer.roots,
        }
        async with Client(server, mode=mode, client_info=who, message_handler=peer.hear, **answers) as peer.client:
            peer.version, peer.session = peer.client.protocol_version, peer.client.session
            yield peer

    async def info(self):
        session = self.session
        if session.initialize_result is not None:
            return wire(session.initialize_result)
        # A pinned client never asks for this itself.
        found = await session.send_discover(self.version)
        return {**found, "serverInfo": found["_meta"]["io.modelcontextprotocol/serverInfo"]}

    async def page(self, kind, cursor):
        client = self.client
        lists = {
            "tools": client.list_tools,
            "resources": client.list_resources,
            "templates": client.list_resource_templates,
            "prompts": client.list_prompts,
        }
        return await asked(lists[kind](cursor=cursor, cache_mode="refresh"))

    async def call(self, name, arguments, progress=None, meta=None):
        callback = reporting(progress)
        return await asked(self.client.call_tool(name, arguments, progress_callback=callback, meta=meta))

    async def cancelled(self, name, arguments, meanwhile):
        """Starts a call, does something, then takes the call back."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.call, name, arguments)
            await meanwhile()
            tasks.cancel_scope.cancel()

    async def read(self, uri):
        return await asked(self.client.read_resource(uri, cache_mode="refresh"))

    async def prompt(self, name, arguments):
        return await asked(self.client.get_prompt(name, arguments))

    async def complete(self, reference, argument, value):
        return await asked(self.client.complete(refer(reference), {"name": argument, "value": value}))

    async def request(self, method, params):
        try:
            request = Request[dict[str, Any], str](method=method, params=params)
            return await self.session.send_request(request, TypeAdapter(dict))
        except MCPError as error:
            raise Refused(error.code, error.message) from error

    async def ping(self):
        return await asked(self.session.send_ping())

    async def set_level(self, level):
        await asked(self.session.set_logging_level(level))

    async def subscribe(self, uri):
        await asked(self.session.subscribe_resource(uri))

    async def unsubscribe(self, uri):
        await asked(self.session.unsubscribe_resource(uri))

    @asynccontextmanager
    async def listen(self, toolsListChanged=False, resourcesListChanged=False, resourceSubscriptions=()):
        async with self.client.listen(
            tools_list_changed=toolsListChanged,
            resources_list_changed=resourcesListChanged,
            resource_subscriptions=resourceSubscriptions,
        ) as subscription:
            honoured = wire(subscription.honored)
            wanted = {"toolsListChanged": toolsListChanged, "resourcesListChanged": resourcesListChanged}
            assert all(honoured.get(name) for name, on in wanted.items() if on), f"the server agreed to {honoured} only"
            assert list(resourceSubscriptions) == honoured.get("resourceSubscriptions", []), f"agreed to {honoured} only"
            yield


def refer(reference):
    if "://" in reference:
        return ResourceTemplateReference(type="ref/resource", uri=reference)
    return PromptReference(type="ref/prompt", name=reference)


if __name__ == "__main__":
    everything_checks.main(ERAS, Mcp.connect)
