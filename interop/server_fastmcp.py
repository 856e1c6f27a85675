"""The server of `interop/src/sdk` on FastMCP, in both eras: `python server_fastmcp.py stdio`, or `http` on PORT."""

import base64
import json
import os
import sys
import warnings
from typing import Annotated, Any, Literal

import anyio
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.tools import Tool
from mcp.server.elicitation import render_elicitation_schema
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import (
    AudioContent,
    Completion,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    EmbeddedResource,
    ImageContent,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    PromptReference,
    ResourceLink,
    SamplingMessage,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
    ToolListChangedNotification,
)
from pydantic import BaseModel, Field

# Logging, sampling and roots are old, and wanted all the same.
warnings.simplefilter("ignore", MCPDeprecationWarning)

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
READ_ONLY = ToolAnnotations(read_only_hint=True)

server = FastMCP("interop", "Ask for anything.", version="1.0.0", list_page_size=10)
state = {"note": 0, "begun": 0, "cancelled": 0}


class Sum(BaseModel):
    sum: float


@server.tool(title="Add numbers", annotations=READ_ONLY)
def add(a: float, b: float) -> Sum:
    """Adds two numbers."""
    return Sum(sum=a + b)


@server.tool(annotations=READ_ONLY, output_schema=None)
def echo(text: str) -> str:
    """Says it again."""
    return text


@server.tool(annotations=READ_ONLY, output_schema=None)
def big(bytes: int) -> str:
    """A long text."""
    return "x" * bytes


@server.tool
def fail(reason: str) -> str:
    """Fails."""
    raise ToolError(f"it failed: {reason}")


@server.tool(output_schema=None)
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


@server.tool(output_schema=None)
async def count(to: int, ctx: Context) -> str:
    """Counts, and says how far it is."""
    for step in range(1, to + 1):
        await ctx.report_progress(step, to, f"step {step}")
    return f"counted to {to}"


@server.tool(output_schema=None)
async def wait() -> str:
    """Waits until it is not wanted."""
    state["begun"] += 1
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        state["cancelled"] += 1
        raise
    return "not wanted"


@server.tool(annotations=READ_ONLY, output_schema=None)
def waits() -> str:
    """How many calls of wait began, and how many were not wanted."""
    return json.dumps({"begun": state["begun"], "cancelled": state["cancelled"]})


@server.tool(annotations=READ_ONLY, output_schema=None)
async def hold(ms: int) -> str:
    """Takes its time."""
    await anyio.sleep(ms / 1000)
    return "held"


@server.tool(output_schema=None)
async def log(level: str, text: str, ctx: Context) -> str:
    """Says something in the log."""
    await ctx.log(text, level=level, logger_name="interop")
    return "logged"


@server.tool(output_schema=None)
def region(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})], text: str) -> str:
    """Says where."""
    return f"{region}: {text}"


@server.tool(output_schema=None)
async def touch(ctx: Context) -> str:
    """Changes the note."""
    state["note"] += 1
    return f"note {state['note']}"


@server.tool(output_schema=None)
async def grow(name: str, ctx: Context) -> str:
    """Adds a tool."""
    tool = Tool.from_function(lambda: f"I am {name}", name=name, description="A new tool.", output_schema=None)
    server.add_tool(tool)
    await ctx.send_notification(ToolListChangedNotification())
    return f"there is {name} now"


class Form(BaseModel):
    name: str = Field(title="Name", min_length=1)
    size: Literal["small", "large"] = "small"
    count: int = Field(3, ge=1)


def ask(ctx: Context, question: InputRequest) -> Any:
    """The answer to a question; the first time the question itself, which is the result then (new era)."""
    if ctx.input_responses is None:
        return InputRequiredResult(input_requests={"it": question})
    return ctx.input_responses["it"]


def is_modern(ctx: Context) -> bool:
    assert ctx.request_context is not None
    return ctx.request_context.protocol_version >= "2026-07-28"


@server.tool(output_schema=None)
async def ask_form(ctx: Context) -> Any:
    """Asks."""
    if is_modern(ctx):
        form = ElicitRequestFormParams(message="Who?", requested_schema=render_elicitation_schema(Form))
        answer = ask(ctx, ElicitRequest(params=form))
        if isinstance(answer, InputRequiredResult):
            return answer
        return json.dumps({"action": answer.action, "content": answer.content})
    answer = await ctx.elicit("Who?", Form)
    return json.dumps({"action": answer.action, "content": answer.data.model_dump() if answer.action == "accept" else None})


@server.tool(output_schema=None)
async def ask_url(url: str, ctx: Context) -> Any:
    """Asks."""
    if is_modern(ctx):
        answer = ask(ctx, ElicitRequest(params=ElicitRequestURLParams(message="Pay, please.", url=url)))
        if isinstance(answer, InputRequiredResult):
            return answer
    else:
        answer = await ctx.session.elicit_url("Pay, please.", url, "pay-1", related_request_id=ctx.request_id)
    return json.dumps({"action": answer.action})


@server.tool(output_schema=None)
async def ask_model(prompt: str, ctx: Context) -> Any:
    """Asks."""
    messages = [SamplingMessage(role="user", content=TextContent(type="text", text=prompt))]
    params = CreateMessageRequestParams(messages=messages, max_tokens=77, system_prompt="Be brief.")
    if is_modern(ctx):
        answer = ask(ctx, CreateMessageRequest(params=params))
        if isinstance(answer, InputRequiredResult):
            return answer
    else:
        answer = await ctx.session.create_message(
            messages, max_tokens=77, system_prompt="Be brief.", related_request_id=ctx.request_id
        )
    return answer.content.text


@server.tool(output_schema=None)
async def folders(ctx: Context) -> Any:
    """Asks."""
    answer = ask(ctx, ListRootsRequest()) if is_modern(ctx) else await ctx.session.list_roots()
    if isinstance(answer, InputRequiredResult):
        return answer
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


@server.completion
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


if __name__ == "__main__":
    if sys.argv[1] == "http":
        server.run("http", host="127.0.0.1", port=int(os.environ["PORT"]), path="/mcp", show_banner=False)
    else:
        server.run("stdio", show_banner=False)
