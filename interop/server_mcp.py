"""The server of `interop/src/sdk` on the Python SDK, in both eras: `python server_mcp.py stdio`, or `http` on PORT."""

import base64
import json
import os
import sys
import warnings
from typing import Annotated, Any, Literal

import anyio
from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import (
    AudioContent,
    Completion,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestURLParams,
    ElicitResult,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    InputRequiredResult,
    ListResourcesResult,
    ListRootsResult,
    PaginatedRequestParams,
    PromptReference,
    ResourceLink,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel, Field

# Logging, sampling and roots are old, and wanted all the same.
warnings.simplefilter("ignore", MCPDeprecationWarning)

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
PAGE_SIZE = 10
READ_ONLY = ToolAnnotations(read_only_hint=True)
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

server = MCPServer("interop", version="1.0.0", title="Interop", instructions="Ask for anything.", log_level="WARNING")
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
    note = TextResourceContents(uri="interop://note", mime_type="text/plain", text=f"note {state['note']}")
    return [
        TextContent(type="text", text="a text"),
        ImageContent(type="image", data=PNG, mime_type="image/png"),
        AudioContent(type="audio", data=WAV, mime_type="audio/wav"),
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


class Waits(BaseModel):
    begun: int
    cancelled: int


@server.tool(annotations=READ_ONLY)
def waits() -> Waits:
    """How many calls of wait began, and how many were not wanted."""
    return Waits(begun=state["begun"], cancelled=state["cancelled"])


@server.tool(annotations=READ_ONLY, structured_output=False)
async def hold(ms: int) -> str:
    """Takes its time."""
    await anyio.sleep(ms / 1000)
    return "held"


@server.tool(structured_output=False)
async def log(level: str, text: str, ctx: Context) -> str:
    """Says something in the log."""
    # In the old era a server filters by itself; in the new one the SDK does.
    if is_modern(ctx) or LEVELS.index(level) >= LEVELS.index(state["level"]):
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
    await ctx.notify_resource_updated("interop://note")
    if not is_modern(ctx):
        await ctx.session.send_resource_updated("interop://note")
    return f"note {state['note']}"


@server.tool(structured_output=False)
async def grow(name: str, ctx: Context) -> str:
    """Adds a tool."""
    server.add_tool(lambda: f"I am {name}", name=name, description="A new tool.", structured_output=False)
    await ctx.notify_tools_changed()
    if not is_modern(ctx):
        await ctx.session.send_tool_list_changed()
    return f"there is {name} now"


class Form(BaseModel):
    name: str = Field(title="Name", min_length=1)
    size: Literal["small", "large"] = "small"
    count: int = Field(3, ge=1)


def who() -> Elicit[Form]:
    return Elicit("Who?", Form)


def model(prompt: str) -> Sample:
    message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    return Sample([message], max_tokens=77, system_prompt="Be brief.")


def roots() -> ListRoots:
    return ListRoots()


# The questions of resolvers are written once; in the old era the SDK asks them while the call waits.
@server.tool(structured_output=False)
def ask_form(answer: Annotated[ElicitationResult[Form], Resolve(who)]) -> dict[str, Any]:
    """Asks."""
    content = answer.data.model_dump() if answer.action == "accept" else None
    return {"action": answer.action, "content": content}


@server.tool(structured_output=False)
async def ask_url(url: str, ctx: Context) -> dict[str, Any] | InputRequiredResult:
    """Asks."""
    if not is_modern(ctx):
        return {"action": (await ctx.elicit_url("Pay, please.", url, "pay-1")).action}
    if ctx.input_responses is None:
        page = ElicitRequestURLParams(message="Pay, please.", url=url)
        return InputRequiredResult(input_requests={"it": ElicitRequest(params=page)})
    answer = ctx.input_responses["it"]
    assert isinstance(answer, ElicitResult)
    return {"action": answer.action}


@server.tool(structured_output=False)
def ask_model(prompt: str, answer: Annotated[CreateMessageResult, Resolve(model)]) -> str:
    """Asks."""
    assert isinstance(answer.content, TextContent)
    return answer.content.text


@server.tool(structured_output=False)
def folders(answer: Annotated[ListRootsResult, Resolve(roots)]) -> str:
    """Asks."""
    return json.dumps([str(root.uri) for root in answer.roots])


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


def is_modern(ctx: Context) -> bool:
    return (ctx.protocol_version or "") >= "2026-07-28"


# What the high interface does not have: pages, and the old era's subscriptions and levels.
async def list_page(_: Any, params: PaginatedRequestParams) -> ListResourcesResult:
    everything = await server.list_resources()
    start = int(params.cursor or 0)
    end = start + PAGE_SIZE
    return ListResourcesResult(
        resources=everything[start:end], next_cursor=str(end) if end < len(everything) else None
    )


async def subscribe(_: Any, params: SubscribeRequestParams | UnsubscribeRequestParams) -> EmptyResult:
    return EmptyResult()


async def set_level(_: Any, params: SetLevelRequestParams) -> EmptyResult:
    state["level"] = params.level
    return EmptyResult()


low = server._lowlevel_server
low.add_request_handler("resources/list", PaginatedRequestParams, list_page)
low.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
low.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, subscribe)
low.add_request_handler("logging/setLevel", SetLevelRequestParams, set_level)

if __name__ == "__main__":
    if sys.argv[1] == "http":
        server.run("streamable-http", host="127.0.0.1", port=int(os.environ["PORT"]))
    else:
        server.run("stdio")
