"""The whole server's tools: results of every kind, and calls that say something on the way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import trio
from attrs import frozen

from antiphon import (
    Annotations,
    Audio,
    Call,
    Done,
    EmbeddedResource,
    Icon,
    Image,
    Meta,
    ResourceLink,
    Server,
    Structured,
    Text,
    ToolAnnotations,
    header,
)
from antiphon.engine.jsonrpc import JsonObject
from antiphon.engine.protocol import LOG_LEVELS

PNG: Final = b"\x89PNG\r\n\x1a\n of no size"
WAV: Final = b"RIFF of no length"
ICON: Final = Icon("data:image/png;base64,iVBORw0KGgo=", "image/png", ["48x48"], "dark")
MARK: Final[JsonObject] = {"com.example/mark": {"depth": [1, None, "großes 名"]}}


@frozen
class Shelf:
    letter: str
    books: list[str]
    lent: dict[str, str | None]
    height: Annotated[float, Meta(gt=0)] = 1.5


# -- structured content of every JSON kind -----------------------------------------------------


async def give_null() -> Structured[None]:
    return Structured(None)


async def give_boolean() -> bool:
    return False


async def give_integer() -> int:
    return 2**53 - 1


async def give_number() -> float:
    return -0.5


async def give_text() -> Structured[str]:
    return Structured("ein Satz\u2028名 🚢", ["told in other words"])


async def give_array() -> list[int | None]:
    return [1, None, 3]


async def give_nothing_in_array() -> list[int]:
    return []


async def give_object() -> Shelf:
    return Shelf("Ä", ["Dune"], {"Dune": "Ada", "Emma": None})


async def give_either() -> Shelf | int:
    return 7


STRUCTURED: Final[Mapping[Any, object]] = {
    give_null: None,
    give_boolean: False,
    give_integer: 2**53 - 1,
    give_number: -0.5,
    give_text: "ein Satz\u2028名 🚢",
    give_array: [1, None, 3],
    give_nothing_in_array: [],
    give_object: {
        "letter": "Ä",
        "books": ["Dune"],
        "lent": {"Dune": "Ada", "Emma": None},
        "height": 1.5,
    },
    give_either: 7,
}
"""What each of them gives."""


# -- content blocks ----------------------------------------------------------------------------


async def show() -> list[Text | Image | Audio | ResourceLink | EmbeddedResource]:
    """Show a block of every kind."""
    hints = Annotations(["user"], 0.25, "2026-07-28T12:00:00Z")
    return [
        Text("told", annotations=hints, meta=MARK),
        Image(PNG, "image/png", annotations=hints),
        Audio(WAV, "audio/wav", meta=MARK),
        ResourceLink(
            "library://motto", "motto", "On the wall", "text/plain",
            title="The motto", size=12, icons=[ICON],
        ),
        EmbeddedResource("library://motto", "sapere aude", "text/plain"),
        EmbeddedResource("library://logo", PNG, "image/png"),
    ]  # fmt: skip


# -- on the way --------------------------------------------------------------------------------


async def work(steps: int, call: Call[Any]) -> int:
    """Report progress and log at every level."""
    for step in range(steps):
        await call.progress(step + 1, steps, f"step {step + 1}")
    for level in LOG_LEVELS:
        await call.message(level, {"level": level}, logger="library.work")
    return steps


async def remember(call: Call[Any]) -> Done[dict[str, Any]]:
    """Give back what the client said in ``_meta``, and say something there too."""
    said = {name: value for name, value in call.meta.items() if name.startswith("com.example/")}
    return Done(said, meta=MARK)


async def route(
    region: Annotated[str, header("Region")], floor: Annotated[int, header("Floor")] = 0
) -> str:
    """Take parameters that HTTP repeats in its headers."""
    return f"{region} {floor}"


async def say(text: str) -> str:
    """Say it again."""
    return text


async def reckon(text: str, call: Call[Any]) -> str:
    """Say it slowly: with progress, and with a line in the log."""
    await call.progress(0.5, 1, text)
    await call.message("warning", text)
    return text


class Hanging:
    """Handlers that wait for ever, and one that waits for their end."""

    def __init__(self) -> None:
        self._ended = [trio.Event() for _ in range(3)]

    async def hang(self, which: int, call: Call[Any]) -> str:
        """Begin, and wait for ever."""
        try:
            await call.progress(1)
            await trio.sleep_forever()
        finally:
            self._ended[which].set()

    async def all_freed(self) -> str:
        """Wait until all of them were cancelled."""
        for ended in self._ended:
            await ended.wait()
        return "freed"


def add_tools(server: Server) -> None:
    """Register them all; those that hang as a prompt and a template, too."""
    for function in STRUCTURED:
        server.tool(function)
    for function in (show, work, remember, route):
        server.tool(function)
    hints = ToolAnnotations(title="Say", read_only=True, open_world=False)
    server.tool(title="Say it", icons=[ICON], meta=MARK, annotations=hints)(say)
    hanging = Hanging()
    server.tool(hanging.hang)
    server.prompt(hanging.hang)
    server.resource_template("hang://{which}")(hanging.hang)
    server.tool(hanging.all_freed)
    server.prompt(reckon)
    server.resource_template("reckon://{text}")(reckon)
