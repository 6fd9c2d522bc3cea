"""A server of ours with all that a server can have, for clients of another make."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Final, Literal

import trio
from attrs import define, field

from antiphon import (
    Annotations,
    Call,
    Complete,
    Completion,
    EmbeddedResource,
    Icon,
    Image,
    Limits,
    Meta,
    PromptMessage,
    ResourceContents,
    ResourceLink,
    ResourceNotFound,
    Server,
    ToolError,
    assistant,
    run_stdio,
    user,
)
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import Reply, Request
from antiphon.engine.subscriptions import LISTEN
from tests.interop.whole_asking import add_asking
from tests.interop.whole_tools import ICON, MARK, PNG, add_tools

BOOKS: Final = {"Dune": "Herbert", "Emma": "Austen", "Persuasion": "Austen"}
DIARY: Final = "library://diary"
SITE: Final = "https://example.org/"
PUBLIC: Final[dict[str, Any]] = {"ttl_ms": 60_000, "cache_scope": "public"}


# -- prompts -----------------------------------------------------------------------------------


async def suggest_title(value: str, others: Mapping[str, str]) -> list[str]:
    """Those of an author, where the author is filled in already."""
    author = others.get("author")
    return [
        title
        for title, by in BOOKS.items()
        if title.startswith(value) and (author is None or by == author)
    ]


async def suggest_many(value: str, others: Mapping[str, str]) -> Completion:
    """More than can be sent."""
    return Completion([f"{value}{number}" for number in range(150)], total=5000)


async def greet(
    name: Annotated[str, Meta(description="Who is greeted", title="The name")],
    tone: Literal["warm", "cool", "cold"] = "warm",
) -> str:
    """Greet somebody."""
    return f"Give {name} a {tone} greeting."


async def discuss(
    title: Annotated[str, Complete(suggest_title)],
    author: Annotated[str, Complete(suggest_many)] = "",
) -> list[PromptMessage]:
    """Discuss a book, with everything that a message can hold."""
    if title == "Ulysses":
        raise ToolError("Nobody discusses Ulysses.")
    return [
        user(f"What is {title}, {author}?"),
        assistant("This is its cover, and that its text:"),
        user(Image(PNG, "image/png")),
        user(EmbeddedResource("library://books/Dune", "Spice.", "text/plain")),
        assistant(ResourceLink("library://motto", "motto")),
    ]


def _add_prompts(server: Server) -> None:
    server.prompt(title="Greeting", icons=[ICON], meta=MARK)(greet)
    server.prompt(discuss)


# -- resources ---------------------------------------------------------------------------------


async def motto() -> str:
    """What stands on the wall."""
    return "sapere aude\u2028名"


async def logo() -> bytes:
    return PNG


async def stock() -> dict[str, Any]:
    return {"books": BOOKS, "lent": None, "price": 1.5}


async def parts() -> list[ResourceContents]:
    return [
        ResourceContents("one", uri="library://parts/1", mime_type="text/plain", meta=MARK),
        ResourceContents(b"\x00two", uri="library://parts/2"),
    ]


async def burnt() -> str:
    raise ResourceNotFound


async def book(title: Annotated[str, Complete(suggest_title)]) -> str:
    """A book's author."""
    if title not in BOOKS:
        raise ResourceNotFound
    return BOOKS[title]


async def search(author: str = "anybody", limit: int = 10) -> list[str]:
    return [f"by {author}", f"at most {limit}"]


def _add_resources(server: Server) -> None:
    server.resource(
        "library://motto",
        title="The motto",
        mime_type="text/plain",
        size=11,
        icons=[ICON],
        meta=MARK,
        annotations=Annotations(["user", "assistant"], 1, "2026-07-28T12:00:00Z"),
    )(motto)
    server.resource("library://logo", mime_type="image/png", ttl_ms=1000)(logo)
    server.resource("library://stock")(stock)
    server.resource("library://parts")(parts)
    server.resource("library://burnt")(burnt)
    server.resource_template(
        "library://books/{title}",
        title="A book",
        mime_type="text/plain",
        icons=[ICON],
        meta=MARK,
        annotations=Annotations(["assistant"]),
    )(book)
    server.resource_template("library://search{?author,limit}")(search)
    _add_counted(server)


def _add_counted(server: Server) -> None:
    """Resources that tell how often they were read."""
    reads = {"kept": 0, "not kept": 0}

    @server.resource("library://kept", **PUBLIC)
    async def kept() -> int:
        reads["kept"] += 1
        return reads["kept"]

    @server.resource("library://not-kept")
    async def not_kept() -> int:
        reads["not kept"] += 1
        return reads["not kept"]


# -- what changes while it runs ----------------------------------------------------------------


@define
class Subscribers:
    """Middleware that knows how many subscriptions are open."""

    _open: int = 0
    _alone: trio.Event = field(factory=trio.Event)

    async def __call__(
        self, request: Request, exchange: Exchange, proceed: Callable[..., Awaitable[Reply]]
    ) -> Reply:
        if request.method != LISTEN:
            return await proceed(request, exchange)
        self._open += 1
        try:
            return await proceed(request, exchange)
        finally:
            self._open -= 1
            self._alone.set()

    async def wait_for(self, count: int) -> None:
        """Wait until there are so many or fewer."""
        while self._open > count:
            self._alone = trio.Event()
            await self._alone.wait()


def _add_changes(server: Server, subscribers: Subscribers) -> None:
    diary = ["first day"]

    @server.resource(DIARY, mime_type="text/plain", **PUBLIC)
    async def read_diary() -> str:
        return "\n".join(diary)

    @server.tool
    async def write(text: str, times: int = 1) -> None:
        """Write into the diary."""
        for _ in range(times):
            diary.append(text)
            server.resource_updated(DIARY)

    @server.tool
    async def acquire(name: str) -> None:
        """Register a tool, a prompt, a resource and a template."""

        async def acquired() -> str:
            """Acquired while the server ran."""
            return name

        async def copy(number: int) -> str:
            return f"{name} {number}"

        server.tool(name=name)(acquired)
        server.prompt(name=name)(acquired)
        server.resource(f"library://{name}")(acquired)
        server.resource_template(f"library://{name}/{{number}}")(copy)

    @server.tool
    async def discard(name: str) -> None:
        """Remove them again."""
        server.tools.remove(name)
        server.prompts.remove(name)
        server.resources.remove(f"library://{name}")
        server.templates.remove(f"library://{name}/{{number}}")

    @server.tool
    async def announce(uri: str) -> None:
        """Tell of a resource that need not be there."""
        server.resource_updated(uri)

    @server.tool
    async def only_so_many_listen(count: int) -> None:
        """Wait until so many subscriptions are left."""
        await subscribers.wait_for(count)

    @server.tool
    async def pid(call: Call[Any]) -> int:
        """The process that serves."""
        return os.getpid()


def make() -> Server:
    """The server, with a state of its own."""
    subscribers = Subscribers()
    server = Server(
        "Library",
        version="1.2",
        title="The library",
        description="Lends books.",
        website_url=SITE,
        icons=[ICON, Icon(f"{SITE}icon.svg", sizes="any")],
        instructions="Be quiet.",
        keys=os.environ.get("ANTIPHON_KEYS", "").split() or None,
        list_ttl_ms=60_000,
        list_scope="public",
        extensions={"com.example/shelves": {"depth": 3}},
        middleware=[subscribers],
        limits=Limits(page=5, subscriptions=3),
    )
    add_tools(server)
    add_asking(server)
    _add_prompts(server)
    _add_resources(server)
    _add_changes(server, subscribers)
    return server


if __name__ == "__main__":
    run_stdio(make())
