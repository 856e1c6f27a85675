"""Interop test: the example `everything`, driven by the client of PyPI `fastmcp` before its fourth version (2.14 and 3.4).

    everything_fastmcp_v2.py stdio -- CMD [ARGS...] | http URL | sse URL

Runs the checks of everything_checks.py for the same eras as everything_v1.py. The library stands on `mcp` 1.x: what it has a call
for goes through that call, the rest (pages, subscriptions, custom methods) through the session underneath, as its users do.
"""

from contextlib import asynccontextmanager

import fastmcp
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError
from mcp import types

import everything_checks
from everything_checks import FIRST, NotHere, reporting, require, wire
from everything_v1 import ERAS, McpV1, asked, refer

NOT_SPOKEN = [("stateless", "2026-07-28", f"fastmcp {fastmcp.__version__} knows no revision after 2025-11-25")]


TRANSPORTS = {
    "stdio": lambda target: StdioTransport(target.command, target.arguments, keep_alive=False),
    "http": lambda target: StreamableHttpTransport(target.url),
    "sse": lambda target: SSETransport(target.url),
}


class FastMcpV2(McpV1):
    """The library's `Client`."""

    async def elicit(self, _message, _type, params, _context):
        return ElicitResult(**self.answered("elicit", wire(params)))

    async def sample(self, _messages, params, context):
        return await self.sampled(context, params)

    @classmethod
    @asynccontextmanager
    async def connect(cls, target, _mode):
        peer = cls()

        # The library takes a function, and not a method.
        async def list_roots(context):
            return (await peer.roots(context)).roots

        peer.wire, transport = target.wire, TRANSPORTS[target.wire](target)
        who = types.Implementation(name="interop", version="1.0.0")
        answers = {"elicitation_handler": peer.elicit, "sampling_handler": peer.sample, "roots": list_roots}
        client = Client(transport, client_info=who, message_handler=peer.hear, log_handler=quiet, **answers)
        async with client as peer.client:
            peer.session, peer.greeting = client.session, wire(client.initialize_result)
            peer.version = peer.greeting["protocolVersion"]
            yield peer

    async def call(self, name, arguments, progress=None):
        if name == "countdown" and progress is None:
            raise NotHere("fastmcp asks for progress in every call")
        return await asked(self.client.call_tool_mcp(name, arguments, progress_handler=reporting(progress)))

    async def read(self, uri):
        return await asked(self.client.read_resource_mcp(uri))

    async def prompt(self, name, arguments):
        return await asked(self.client.get_prompt_mcp(name, arguments))

    async def complete(self, reference, argument, value):
        return await asked(self.client.complete_mcp(refer(reference), {"name": argument, "value": value}))

    async def ping(self):
        assert await self.client.ping()
        return {}

    async def set_level(self, level):
        await self.client.set_logging_level(level)


async def quiet(_message):
    """Log messages are collected with all other notifications."""


async def typed_data(peer):
    data = (await peer.client.call_tool("stats", {"values": [1, 2, 3, 6]})).data
    require([4, 12, 3], [data.count, data.sum, data.mean], "the data")


async def tool_error(peer):
    try:
        result = await peer.client.call_tool("divide", {"a": 1, "b": 0})
    except ToolError as error:
        require({"$contains": "division by zero"}, str(error), "the ToolError")
    else:
        raise AssertionError(f"expected a ToolError, got {result}")


OWN = [
    ("stats: data has the type of the output schema", FIRST, typed_data),
    ("divide: by zero raises ToolError", FIRST, tool_error),
]

if __name__ == "__main__":
    everything_checks.main(ERAS, FastMcpV2.connect, own=OWN, not_spoken=NOT_SPOKEN)
