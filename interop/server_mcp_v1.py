"""The server of `interop/src/sdk` on the Python SDK before its second version (PyPI `mcp` 1.30.0), which knows only the old era.

    python server_mcp_v1.py stdio | http | sse | json | stateless

Over HTTP it listens on PORT. `http` keeps sessions and answers with events, `json` keeps sessions and answers with JSON,
`stateless` keeps no sessions.
"""

import base64
import json
import os
import sys
from typing import Annotated, Any

import anyio
from mcp import types
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.types import (
    AudioContent,
    Completion,
    EmbeddedResource,
    ImageContent,
    PromptReference,
    ResourceLink,
    SamplingMessage,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import BaseModel, Field

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
PAGE_SIZE = 10
READ_ONLY = ToolAnnotations(readOnlyHint=True)
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
MODE = sys.argv[1]

server = FastMCP(
    "interop",
    "Ask for anything.",
    log_level="WARNING",
    port=int(os.environ.get("PORT", 0)),
    json_response=MODE == "json",
    stateless_http=MODE == "stateless",
)
state: dict[str, Any] = {"note": 0, "begun": 0, "cancelled": 0, "level": "debug"}


class Sum(BaseModel):
    sum: float


@server.tool(title="Add numbers", annotations=READ_ONLY)
def add(a: float, b: float) -> Sum:
    """Adds two numbers."""
    return Sum(sum=a + b)


@server.tool(annotations=READ_ONLY, structured_output=False)
def echo(text: str) -> str:
    """Says it again."""
    return text


@server.tool(annotations=READ_ONLY, structured_output=False)
def big(bytes: int) -> str:
    """A long text."""
    return "x" * bytes


@server.tool()
def fail(reason: str) -> str:
    """Fails."""
    raise ToolError(f"it failed: {reason}")


@server.tool(structured_output=False)
def mixed() -> list[Any]:
    """One block of each kind."""
    note = TextResourceContents(uri="interop://note", mimeType="text/plain", text=f"note {state['note']}")
    return [
        TextContent(type="text", text="a text"),
        ImageContent(type="image", data=PNG, mimeType="image/png"),
        AudioContent(type="audio", data=WAV, mimeType="audio/wav"),
        ResourceLink(type="resource_link", uri="interop://note", name="note"),
        EmbeddedResource(type="resource", resource=note),
    ]


@server.tool(structured_output=False)
async def count(to: int, ctx: Context) -> str:
    """Counts, and says how far it is."""
    for step in range(1, to + 1):
        await ctx.report_progress(step, to, f"step {step}")
    return f"counted to {to}"


@server.tool(structured_output=False)
async def wait() -> str:
    """Waits until it is not wanted."""
    state["begun"] += 1
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        state["cancelled"] += 1
        raise
    return "not wanted"


@server.tool(annotations=READ_ONLY, structured_output=False)
def waits() -> str:
    """How many calls of wait began, and how many were not wanted."""
    return json.dumps({"begun": state["begun"], "cancelled": state["cancelled"]})


@server.tool(annotations=READ_ONLY, structured_output=False)
async def hold(ms: int) -> str:
    """Takes its time."""
    await anyio.sleep(ms / 1000)
    return "held"


@server.tool(structured_output=False)
async def log(level: str, text: str, ctx: Context) -> str:
    """Says something in the log."""
    # The SDK leaves it to the server to leave out what matters less.
    if LEVELS.index(level) >= LEVELS.index(state["level"]):
        await ctx.log(level, text, logger_name="interop")
    return "logged"


@server.tool(structured_output=False)
def region(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})], text: str) -> str:
    """Says where."""
    return f"{region}: {text}"


@server.tool(structured_output=False)
async def touch(ctx: Context) -> str:
    """Changes the note."""
    state["note"] += 1
    await ctx.session.send_resource_updated("interop://note")
    return f"note {state['note']}"


@server.tool(structured_output=False)
async def grow(name: str, ctx: Context) -> str:
    """Adds a tool."""
    server.add_tool(lambda: f"I am {name}", name=name, description="A new tool.", structured_output=False)
    await ctx.session.send_tool_list_changed()
    return f"there is {name} now"


class Form(BaseModel):
    name: str = Field(title="Name", min_length=1)
    # The SDK takes no `Literal` here.
    size: str = Field("small", json_schema_extra={"enum": ["small", "large"]})
    count: int = Field(3, ge=1)


@server.tool(structured_output=False)
async def ask_form(ctx: Context) -> dict[str, Any]:
    """Asks."""
    answer = await ctx.elicit("Who?", Form)
    return {"action": answer.action, "content": answer.data.model_dump() if answer.action == "accept" else None}


@server.tool(structured_output=False)
async def ask_url(url: str, ctx: Context) -> dict[str, Any]:
    """Asks."""
    return {"action": (await ctx.elicit_url("Pay, please.", url, "pay-1")).action}


@server.tool(structured_output=False)
async def ask_model(prompt: str, ctx: Context) -> str:
    """Asks."""
    messages = [SamplingMessage(role="user", content=TextContent(type="text", text=prompt))]
    answer = await ctx.session.create_message(
        messages, max_tokens=77, system_prompt="Be brief.", related_request_id=ctx.request_id
    )
    return answer.content.text


@server.tool(structured_output=False)
async def folders(ctx: Context) -> str:
    """Asks."""
    return json.dumps([str(root.uri) for root in (await ctx.session.list_roots()).roots])


@server.resource("interop://note", name="note", title="Note", mime_type="text/plain")
def note() -> str:
    return f"note {state['note']}"


@server.resource("interop://picture", name="picture", mime_type="image/png")
def picture() -> bytes:
    return base64.b64decode(PNG)


@server.resource("interop://item/{id}", name="item", mime_type="text/plain")
def item(id: str) -> str:
    return f"item {id}"


for number in range(1, 26):
    server.resource(f"interop://page/{number}", name=f"page {number}")(lambda: "a page")


@server.prompt(title="Greeting")
def greet(name: str, style: str = "plain") -> str:
    """Greets a person."""
    return f"Greet {name} in a {style} way."


@server.completion()
async def complete(reference: Any, argument: Any, context: Any) -> Completion:
    known = (context.arguments if context else None) or {}
    choices = {
        "style": ["formal", "friendly", "fancy"],
        "name": ["Dr. Who" if known.get("style") == "formal" else "Who"],
        "id": ["alpha", "beta", "better"],
    }
    is_right = isinstance(reference, PromptReference) == (argument.name != "id")
    values = choices[argument.name] if is_right else []
    return Completion(values=[value for value in values if value.startswith(argument.value)])


# What the high interface does not have: a version of the server, pages, subscriptions and levels.
low = server._mcp_server
low.version = "1.0.0"


@low.list_resources()
async def list_page(request: types.ListResourcesRequest) -> types.ListResourcesResult:
    everything = await server.list_resources()
    start = int((request.params and request.params.cursor) or 0)
    end = start + PAGE_SIZE
    return types.ListResourcesResult(
        resources=everything[start:end], nextCursor=str(end) if end < len(everything) else None
    )


@low.subscribe_resource()
async def subscribe(_: Any) -> None:
    pass


@low.unsubscribe_resource()
async def unsubscribe(_: Any) -> None:
    pass


@low.set_logging_level()
async def set_level(level: str) -> None:
    state["level"] = level


if __name__ == "__main__":
    server.run({"stdio": "stdio", "sse": "sse"}.get(MODE, "streamable-http"))
