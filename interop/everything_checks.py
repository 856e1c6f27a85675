"""What must a client written in Python get from the example `everything`?

The rows of everything.json, and below what takes more than one request: pages, progress, log messages, questions
that meet them, cancelling, news of changes. A client is a `Peer`; its results are the library's own, turned back into the JSON of the wire.

One line per check: `ok   ERA VERSION GROUP: WHAT`, or `FAIL` or `n/a ` with ` -- WHY` after it. `n/a` means that the library
cannot ask the question, never that nobody tried. All checks run even if one fails; every wait has an end.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

import anyio

from everything_match import mismatch, require, show

ROWS = json.loads((Path(__file__).parent / "everything.json").read_text(encoding="utf-8"))["rows"]
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LIST_MEMBER = {"tools": "tools", "resources": "resources", "templates": "resourceTemplates", "prompts": "prompts"}
NAME_MEMBER = {"tools": "name", "resources": "uri", "templates": "uriTemplate", "prompts": "name"}
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
CHECK_TIMEOUT, CONNECT_TIMEOUT, HARD_TIMEOUT = 5, 15, 170  # seconds
MOST_NODES = 3  # of one server


class NotHere(Exception):
    """The library, or the server by its own word, has no such thing; the text says which and why."""


class Refused(Exception):
    """The server answered with a protocol error."""

    def __init__(self, code, message):
        super().__init__(f"protocol error {code}: {message}")
        self.code, self.message = code, message


class Peer:
    """What the checks need of a client. Everything goes in and comes out as the JSON of the wire."""

    version = None  # what was negotiated
    wire = "stdio"  # which of the wires lies before the server: stdio, http or sse
    name = "interop"  # under which the server must know the client

    def __init__(self):
        self.news, self.faults, self._changed = [], [], anyio.Event()
        self._script, self._surprises = [], []  # the questions that are to come, and others that came

    async def being_asked(self, questions, work):
        """Does something during which the server must ask just these questions."""
        self._script, self._surprises, result, failure = list(questions), [], None, None
        try:
            result = await work
        except Exception as error:
            failure = error
        problems = [*self._surprises, *(f"not asked: {kind} {show(what)}" for kind, what, _ in self._script)]
        ending = describe(failure) if failure else f"the result: {show(result)}"
        assert not problems, "; ".join([*problems, ending])
        if failure:
            raise failure
        return result

    def answered(self, kind, params):
        """The server asks; this is the result."""
        for question in self._script:
            if question[0] == kind:
                self._script.remove(question)
                problem = mismatch(question[1], params, f"the question {kind}")
                break
        else:
            problem = f"nobody expected {kind} {show(params)}"
        if problem is not None:
            self._surprises.append(problem)
            raise AssertionError(problem)
        return question[2]

    def heard(self, message):
        """A notification came in."""
        self.news.append(message)
        self._changed.set()
        self._changed = anyio.Event()

    async def until(self, count, method, since=0):
        """Waits for so many notifications of a method; the caller bounds the wait."""
        while len(found := self.of(method, since)) < count:
            await self._changed.wait()
        return found

    def of(self, method, since=0):
        return [message.get("params") or {} for message in self.news[since:] if message["method"] == method]

    async def fence(self):
        """After this, whatever the server sent before has been handled, where all of it comes on one stream: a pipe, or the
        reply to one request."""
        for _ in range(2):
            await self.call("echo", {"text": "fence"})

    async def settled(self):
        """After this, news of changes that the server sent before has been handled. Over HTTP a session has a stream for them,
        which says nothing about other streams: it is asked for one more, and once again, for the server may tell what is due
        in any order. A server of several processes, which are asked in turn, is asked at each of them: they tell their own
        news, each in its own time."""
        if self.wire != "http" or self.version >= STATELESS:
            return await self.fence()
        for _ in range(max(2, MOST_NODES)):
            since = len(self.news)
            await self.call("resources_changed", {})
            await self.until(1, "notifications/resources/list_changed", since)

    async def every(self, kind):
        """All pages of a list."""
        items, cursor = [], None
        while True:
            page = await self.page(kind, cursor)
            items += page[LIST_MEMBER[kind]]
            if (cursor := page.get("nextCursor")) is None:
                return items


def wire(model):
    """A library's model as it was on the wire."""
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def reporting(progress):
    """A plain function as the libraries want it for progress; None stays None."""

    async def callback(done, total, message):
        progress(done, total, message)

    return progress and callback


async def answer(peer, action, *words):
    """Does what a row says and returns what came of it."""
    if action in ("says", "fails"):
        result = await peer.call(*words)
        blocks, failed = result["content"], bool(result.get("isError"))
        as_far = failed == (action == "fails") and len(blocks) == 1 and blocks[0]["type"] == "text"
        assert as_far, f"expected one text{' of an error' if action == 'fails' else ''}, got {show(result)}"
        return blocks[0]["text"]
    if action == "call":
        result = await peer.call(*words)
        return {"error": result} if result.get("isError") else result
    if action == "names":
        return sorted(item[NAME_MEMBER[words[0]]] for item in await peer.every(words[0]))
    if action == "listed":
        return await peer.every(words[0])
    if action == "item":
        kind, name = words
        return next((item for item in await peer.every(kind) if item[NAME_MEMBER[kind]] == name), None)
    return await getattr(peer, action)(*words)


async def pages_of_resources(peer):
    sizes, uris, cursor = [], [], None
    while True:
        page = await peer.page("resources", cursor)
        sizes.append(len(page["resources"]))
        uris += [item["uri"] for item in page["resources"]]
        if (cursor := page.get("nextCursor")) is None:
            break
    fixed = ["everything://bundle", "everything://config", "everything://logo", "everything://readme"]
    require(fixed, sorted(uris[:4]), "the first four")
    require([f"everything://dynamic/{n}" for n in range(1, 26)], uris[4:], "the others")
    # Ten of the listing function's own; whether the four others count is not said.
    assert len(sizes) >= 3 and max(sizes) <= 14, f"expected three or more pages of ten, got {sizes}"


async def made_up_cursor(peer):
    try:
        page = await peer.page("resources", "made-up")
    except Refused as error:
        require(-32602, error.code, "the code")
    else:
        raise AssertionError(f"expected protocol error -32602, got {show(page)}")


async def progress_asked_for(peer):
    seen = []
    result = await peer.call("countdown", {"steps": 3}, progress=lambda *update: seen.append(list(update)))
    require("done", result["content"][0]["text"])
    await peer.fence()
    message = "step {}" if peer.version >= "2025-03-26" else None  # 2024-11-05 has no words there
    require([[n, 3, message and message.format(n)] for n in (1, 2, 3)], seen, "the progress")


async def progress_not_asked_for(peer):
    since = len(peer.news)
    require("done", (await peer.call("countdown", {"steps": 3}))["content"][0]["text"])
    await peer.fence()
    require([], peer.of("notifications/progress", since), "the progress")


async def chatter(peer, first, **options):
    """Calls `chatter` and requires the levels from the first one on, each with its data; None: not one."""
    since = len(peer.news)
    require("logged", (await peer.call("chatter", {}, **options))["content"][0]["text"])
    await peer.fence()
    wanted = [] if first is None else [(n, level) for n, level in enumerate(LEVELS) if n >= LEVELS.index(first)]
    expected = [{"level": level, "data": {"message": f"{level} message", "n": n}} for n, level in wanted]
    require(expected, peer.of("notifications/message", since), "the messages")


async def log_by_default(peer):
    await chatter(peer, "warning")


async def log_from_debug(peer):
    await peer.set_level("debug")
    await chatter(peer, "debug")


async def log_from_error(peer):
    await peer.set_level("error")
    await chatter(peer, "error")


async def log_not_asked_for(peer):
    await chatter(peer, None)


async def log_asked_for_debug(peer):
    await chatter(peer, "debug", meta={LOG_LEVEL: "debug"})


async def log_asked_for_error(peer):
    await chatter(peer, "error", meta={LOG_LEVEL: "error"})


async def said_once(peer):
    """The function runs three times; what it says while it runs is told once."""
    seen, since, options = [], len(peer.news), {}
    if peer.version >= STATELESS:
        options = {"meta": {LOG_LEVEL: "debug"}}
    else:
        await peer.set_level("debug")
    questions = [
        ["elicit", {}, {"action": "accept", "content": {"name": "Ada"}}],
        ["elicit", {}, {"action": "accept", "content": {"colour": "red"}}],
    ]
    call = peer.call("wizard", {}, progress=lambda *update: seen.append(update[0]), **options)
    result = await peer.being_asked(questions, call)
    require("Ada likes red; drafts: 1", result["content"][0]["text"])
    await peer.fence()
    require([1, 2, 3], seen, "the progress")
    said = [message["data"]["message"] for message in peer.of("notifications/message", since)]
    require(["begun", "done"], said, "the messages")


async def number(peer, tool):
    return int((await peer.call(tool, {}))["content"][0]["text"])


async def waited(peer):
    return await number(peer, "waited")


async def waiting(peer, count):
    """So many calls of `wait` have reached their function: over HTTP each request has a way of its own."""
    while await number(peer, "waiting") != count:
        pass


async def cancel_is_heard(peer):
    await waiting(peer, 0)
    before = await waited(peer)
    await peer.cancelled("wait", {}, lambda: waiting(peer, 1))
    # The server drops the call when it gets round to it; each look is a whole round trip, and the caller bounds them.
    while (now := await waited(peer)) == before:
        pass
    require(before + 1, now, "the dropped calls")


async def cancel_leaves_the_rest(peer):
    """Of two waiting calls one is cancelled; the other waits on, and is cancelled next."""
    await waiting(peer, 0)
    before = await waited(peer)

    async def inner():
        await waiting(peer, 1)
        await peer.cancelled("wait", {}, lambda: waiting(peer, 2))
        while await waited(peer) == before:
            pass
        await peer.fence()
        require(before + 1, await waited(peer), "the dropped calls")

    await peer.cancelled("wait", {}, inner)
    while (now := await waited(peer)) == before + 1:
        pass
    require(before + 2, now, "the dropped calls")


async def tool_comes_and_goes(peer):
    before = await answer(peer, "names", "tools")
    await peer.call("add_tool", {"name": "newcomer"})
    require(sorted([*before, "newcomer"]), await answer(peer, "names", "tools"), "the tools")
    require("I am newcomer", await answer(peer, "says", "newcomer", {}))
    await peer.call("remove_tool", {"name": "newcomer"})
    require(before, await answer(peer, "names", "tools"), "the tools")
    try:
        result = await peer.call("newcomer", {})
    except Refused as error:
        require(-32602, error.code, "the code")
    else:
        raise AssertionError(f"expected protocol error -32602, got {show(result)}")


async def changes(peer, method):
    """Runs what changes a list and requires its news, once per change."""
    since = len(peer.news)
    if method == "notifications/tools/list_changed":
        await peer.call("add_tool", {"name": "herald"})
        try:
            await peer.until(1, method, since)
        finally:
            # The server may be there for others, who would find the tool if it stayed after a failure.
            with anyio.CancelScope(shield=True):
                await peer.call("remove_tool", {"name": "herald"})
        await peer.until(2, method, since)
    else:
        await peer.call("resources_changed", {})
        await peer.until(1, method, since)


async def offered(peer, feature, member):
    """In the stateless era news come on a stream, where the server offers one."""
    if not ((await peer.info())["capabilities"].get(feature) or {}).get(member):
        raise NotHere(f"the server's discovery does not offer `{feature}.{member}` in this era")


async def tools_news(peer):
    await changes(peer, "notifications/tools/list_changed")


async def resources_news(peer):
    await changes(peer, "notifications/resources/list_changed")


async def tools_news_on_a_stream(peer):
    await offered(peer, "tools", "listChanged")
    async with peer.listen(toolsListChanged=True):
        await changes(peer, "notifications/tools/list_changed")


async def resources_news_on_a_stream(peer):
    await offered(peer, "resources", "listChanged")
    async with peer.listen(resourcesListChanged=True):
        await changes(peer, "notifications/resources/list_changed")


async def no_news_without_a_stream(peer):
    since = len(peer.news)
    await peer.call("add_tool", {"name": "herald"})
    await peer.call("remove_tool", {"name": "herald"})
    await peer.call("resources_changed", {})
    await peer.call("touch", {"uri": "everything://config"})
    await peer.fence()
    require([], peer.news[since:], "the news")


UPDATED, CONFIG, README = "notifications/resources/updated", "everything://config", "everything://readme"


async def touches(peer, *uris):
    """Touches resources and returns the news of them that came."""
    since = len(peer.news)
    for uri in uris:
        await peer.call("touch", {"uri": uri})
    await peer.settled()
    return [update["uri"] for update in peer.of(UPDATED, since)]


async def update_for_subscribers(peer):
    require([], await touches(peer, CONFIG), "the news before")
    await peer.subscribe(CONFIG)
    require([CONFIG], await touches(peer, README, CONFIG), "the news")
    await peer.unsubscribe(CONFIG)
    require([], await touches(peer, CONFIG), "the news after")


async def update_on_a_stream(peer):
    await offered(peer, "resources", "subscribe")
    async with peer.listen(resourceSubscriptions=[CONFIG]):
        since = len(peer.news)
        await peer.call("touch", {"uri": README})
        await peer.call("touch", {"uri": CONFIG})
        await peer.until(1, UPDATED, since)
        await peer.fence()
        require([CONFIG], [update["uri"] for update in peer.of(UPDATED, since)], "the news")
    await peer.fence()  # closing the stream tells the server, but not before it returns
    require([], await touches(peer, CONFIG), "the news after")


FIRST, LAST_HANDSHAKE, STATELESS, ANY = "2024-11-05", "2025-11-25", "2026-07-28", "9999"
NO_SSE = "HTTP+SSE lives on sessions, and 2026-07-28 has none"
# Group, what, first revision, last revision, check.
SCENES = [
    ("pages", "resources: all, in order, ten a page", FIRST, ANY, pages_of_resources),
    ("pages", "resources: made-up cursor", FIRST, ANY, made_up_cursor),
    ("progress", "countdown: three steps", FIRST, ANY, progress_asked_for),
    ("progress", "countdown: nobody asked", FIRST, ANY, progress_not_asked_for),
    ("log", "chatter: from warning by default", FIRST, LAST_HANDSHAKE, log_by_default),
    ("log", "chatter: from debug after setLevel", FIRST, LAST_HANDSHAKE, log_from_debug),
    ("log", "chatter: from error after setLevel", FIRST, LAST_HANDSHAKE, log_from_error),
    ("log", "chatter: nobody asked", STATELESS, ANY, log_not_asked_for),
    ("log", "chatter: asked for debug", STATELESS, ANY, log_asked_for_debug),
    ("log", "chatter: asked for error", STATELESS, ANY, log_asked_for_error),
    ("asking", "wizard: progress and log are told once", "2025-06-18", ANY, said_once),
    ("cancel", "wait: dropped", FIRST, ANY, cancel_is_heard),
    ("cancel", "wait: the other one goes on", FIRST, ANY, cancel_leaves_the_rest),
    ("changes", "a tool comes and goes", FIRST, ANY, tool_comes_and_goes),
    ("changes", "tools: news", FIRST, LAST_HANDSHAKE, tools_news),
    ("changes", "resources: news", FIRST, LAST_HANDSHAKE, resources_news),
    ("changes", "tools: news on a stream", STATELESS, ANY, tools_news_on_a_stream),
    ("changes", "resources: news on a stream", STATELESS, ANY, resources_news_on_a_stream),
    ("changes", "no news without a stream", STATELESS, ANY, no_news_without_a_stream),
    ("updates", "touch: only to subscribers", FIRST, LAST_HANDSHAKE, update_for_subscribers),
    ("updates", "touch: on a stream", STATELESS, ANY, update_on_a_stream),
]


class Report:
    failed = False

    def line(self, kind, era, version, group, what, why=None):
        Report.failed = Report.failed or kind == "FAIL"
        tail = "" if why is None else f" -- {' '.join(why.split())}"
        print(f"{kind:4} {era} {version} {group}: {what}{tail}", flush=True)


def checks(version, own):
    """All checks for a revision: group, what, a function from the peer to a problem or None."""
    for row in ROWS:
        if row.get("since", FIRST) <= version <= row.get("until", ANY):
            yield row["group"], row["what"], by_row(row, version)
    for group, what, since, until, scene in SCENES:
        if since <= version <= until:
            yield group, what, scene
    for what, since, scene in own:
        if since <= version:
            yield "own", what, scene


def by_row(row, version):
    async def check(peer):
        expected = json.loads(json.dumps(row["expect"]).replace("$version", version).replace("$client", peer.name))
        try:
            got = await peer.being_asked(row.get("asked", []), answer(peer, *row["do"]))
        except Refused as error:
            got = {"error": {"code": error.code, "message": error.message}}
        problem = mismatch(expected, got)
        assert problem is None, problem

    return check


def describe(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) if isinstance(error, AssertionError | Refused) else f"{type(error).__name__}: {error}"


async def run_era(report, era, version, connect, own):
    done = set()

    async def run():
        with anyio.fail_after(CONNECT_TIMEOUT) as connecting:
            async with connect() as peer:
                connecting.deadline = float("inf")
                report.line("ok", era, version, "info", "connect")
                require(version, peer.version, "the version")
                for group, what, check in checks(version, own):
                    done.add((group, what))
                    try:
                        with anyio.fail_after(CHECK_TIMEOUT):
                            await check(peer)
                        report.line("ok", era, version, group, what)
                    except NotHere as reason:
                        report.line("n/a", era, version, group, what, str(reason))
                    except TimeoutError:
                        report.line("FAIL", era, version, group, what, f"not done after {CHECK_TIMEOUT} s")
                    except Exception as error:
                        report.line("FAIL", era, version, group, what, describe(error))
                faults = f"expected none, got {peer.faults}" if peer.faults else None
                report.line("FAIL" if faults else "ok", era, version, "end", "no transport errors", faults)
                done.add(("end", "no transport errors"))
                closing = time.monotonic()
        # The libraries kill a stdio server that is still there 2 s after its stdin was closed.
        took = time.monotonic() - closing
        slow = None if took < 1.9 else f"expected under 1.9 s, took {took:.1f} s"
        report.line("FAIL" if slow else "ok", era, version, "end", "close", slow)
        done.add(("end", "close"))

    why = "the run of this era was broken off"
    try:
        await run()
    except Exception as error:
        why = describe(error)
    names = [(group, what) for group, what, _ in checks(version, own)]
    for group, what in [*names, ("end", "no transport errors"), ("end", "close")]:
        if (group, what) not in done:
            report.line("FAIL", era, version, group, what, f"did not run: {why}")


class Target(NamedTuple):
    """Which server, and over which wire: a command for stdio, a URL for http and sse."""

    wire: str
    url: str = ""
    command: str = ""
    arguments: list[str] = []

    @classmethod
    def from_command_line(cls):
        wire, *words = sys.argv[1:] or [""]
        if wire == "stdio" and words[:1] == ["--"] and len(words) > 1:
            return cls(wire, command=words[1], arguments=words[2:])
        if wire in ("http", "sse") and len(words) == 1:
            return cls(wire, url=words[0])
        return sys.exit(print(f"usage: {sys.argv[0]} stdio -- CMD [ARGS...] | http URL | sse URL", file=sys.stderr) or 2)


def main(eras, connect, own=(), not_spoken=()):
    """Runs every era. `eras` is name -> (mode, version), `connect(target, mode)` gives a peer, `own` are what only this library
    has as (what, first revision, check), `not_spoken` are (era, version, why)."""
    target, report = Target.from_command_line(), Report()

    def hard_stop():
        report.line("FAIL", "all", "-", "end", "timeout", f"expected to be done in {HARD_TIMEOUT} s")
        os._exit(1)

    watchdog = threading.Timer(HARD_TIMEOUT, hard_stop)
    watchdog.daemon = True
    watchdog.start()
    for era, version, why in not_spoken:
        report.line("n/a", era, version, "all", "every check", why)

    async def run():
        for era, (mode, version) in eras.items():
            if target.wire == "sse" and version >= STATELESS:
                report.line("n/a", era, version, "all", "every check", NO_SSE)
            else:
                await run_era(report, era, version, lambda: connect(target, mode), own)

    anyio.run(run)
    sys.exit(int(Report.failed))
