"""Interop test: the example `everything`, driven by the client of PyPI `fastmcp` 4.1.4.

    everything_fastmcp.py stdio -- CMD [ARGS...] | http URL | sse URL

Runs the checks of everything_checks.py for the same eras as everything.py. The library stands on `mcp` 2.3.0: what it has a
call for goes through that call, the rest (subscriptions, custom methods) through the session underneath, as its users do.
"""

from contextlib import asynccontextmanager

import mcp.client.subscriptions
from fastmcp import Client
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError
from mcp.types import Implementation

import everything_checks
from everything import ERAS, Mcp, asked, refer
from everything_checks import FIRST, LOG_LEVEL, STATELESS, NotHere, reporting, require


TRANSPORTS = {
    "stdio": lambda target: StdioTransport(target.command, target.arguments, keep_alive=False),
    "http": lambda target: StreamableHttpTransport(target.url),
    "sse": lambda target: SSETransport(target.url),
}


class FastMcp(Mcp):
    """The library's `Client`."""

    async def elicit(self, _message, _type, params, context):
        return await self.elicited(context, params)

    async def sample(self, _messages, params, context):
        return await self.sampled(context, params)

    async def list_roots(self, context):
        return (await self.roots(context)).roots

    @classmethod
    @asynccontextmanager
    async def connect(cls, target, mode):
        peer = cls()
        peer.wire, transport = target.wire, TRANSPORTS[target.wire](target)
        who = Implementation(name="interop", version="1.0.0")
        answers = {"elicitation_handler": peer.elicit, "sampling_handler": peer.sample, "roots": peer.list_roots}
        client = Client(
            transport, mode=mode, client_info=who, message_handler=peer.hear, log_handler=quiet, **answers
        )
        async with client as peer.client:
            peer.version, peer.session = client.protocol_version, client.session
            yield peer

    async def page(self, kind, cursor):
        client = self.client
        lists = {
            "tools": client.list_tools_mcp,
            "resources": client.list_resources_mcp,
            "templates": client.list_resource_templates_mcp,
            "prompts": client.list_prompts_mcp,
        }
        return await asked(lists[kind](cursor=cursor))

    async def call(self, name, arguments, progress=None, meta=None):
        if name == "countdown" and progress is None:
            raise NotHere("fastmcp asks for progress in every call")
        if name == "chatter" and meta is None and self.version >= "2026-07-28":
            raise NotHere("fastmcp asks for all log messages in every request")
        handler = reporting(progress)
        return await asked(self.client.call_tool_mcp(name, arguments, progress_handler=handler, meta=meta))

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

    def listen(self, **filter):
        return Mcp.listen(Streams(self.session), **filter)


class Streams:
    """A session with the call that `mcp`'s client has and fastmcp's has not."""

    def __init__(self, session):
        self.client, self.session = self, session

    def listen(self, **filter):
        return mcp.client.subscriptions.listen(self.session, **filter)


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


async def all_pages(peer):
    require({"$length": 29}, [str(item.uri) for item in await peer.client.list_resources()], "the resources")


async def asks_for_all_log_messages(peer):
    since = len(peer.news)
    await peer.client.call_tool("chatter", {})
    await peer.fence()
    require({"$length": 8}, peer.of("notifications/message", since), f"the messages for {LOG_LEVEL}")


OWN = [
    ("stats: data has the type of the output schema", FIRST, typed_data),
    ("divide: by zero raises ToolError", FIRST, tool_error),
    ("list_resources walks the pages", FIRST, all_pages),
    ("chatter: all levels unasked", STATELESS, asks_for_all_log_messages),
]

if __name__ == "__main__":
    everything_checks.main(ERAS, FastMcp.connect, own=OWN)
