"""Everything that a client asks, and what an honest server says to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from attrs import frozen

from antiphon.engine.asked import Accept, FormRequest, UrlRequest
from antiphon.engine.client import Client
from antiphon.engine.client_reads import PromptRef
from antiphon.engine.jsonrpc import JsonObject
from antiphon.engine.retrying import RetryPolicy
from tests.client.scripted import asks, form, link, poll, sampling


@frozen
class Method:
    """A method of the protocol.

    Attributes:
        name: as it is sent.
        good: a complete result with every member that the revision knows.
        ask: how a program asks for it.
        rounds: what an honest server says before that.
    """

    name: str
    good: JsonObject
    ask: Callable[[Client], Awaitable[object]]
    rounds: tuple[JsonObject, ...] = ()

    @property
    def legs(self) -> list[JsonObject]:
        """What an honest server says, leg after leg."""
        return [*self.rounds, self.good]

    @property
    def has_rounds(self) -> bool:
        return bool(self.rounds)


CACHED: Final[JsonObject] = {"ttlMs": 0, "cacheScope": "private"}
ICONS: Final[list[Any]] = [{"src": "https://example.com/i.png", "mimeType": "image/png"}]
META: Final[JsonObject] = {
    "io.modelcontextprotocol/serverInfo": {"name": "Hostile", "version": "1"}
}
BLOCKS: Final[list[Any]] = [
    {"type": "text", "text": "done", "annotations": {"priority": 1}},
    {"type": "image", "data": "AAAA", "mimeType": "image/png"},
]


def _complete(**members: Any) -> JsonObject:
    return {"resultType": "complete", "_meta": META, **members}


_ROUNDS: Final[tuple[JsonObject, ...]] = (
    asks({"region": form(), "more": form()}, "s0"),
    poll("s1"),
    asks({"page": link(), "model": sampling()}, "s2"),
)


_TOOL: Final[JsonObject] = {
    "name": "t",
    "title": "T",
    "description": "Does",
    "inputSchema": {"type": "object"},
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
    "icons": ICONS,
    "_meta": {},
}
_PROMPT: Final[JsonObject] = {
    "name": "p",
    "title": "P",
    "description": "Says",
    "arguments": [{"name": "a", "title": "A", "description": "An a", "required": True}],
    "icons": ICONS,
    "_meta": {},
}
_RESOURCE: Final[JsonObject] = {
    "uri": "x://r",
    "name": "r",
    "title": "R",
    "description": "Is",
    "mimeType": "text/plain",
    "size": 3,
    "annotations": {"priority": 0.5},
    "icons": ICONS,
    "_meta": {},
}
_TEMPLATE: Final[JsonObject] = {
    "uriTemplate": "x://{r}",
    "name": "r",
    "title": "R",
    "description": "Is",
    "mimeType": "text/plain",
    "annotations": {},
    "icons": ICONS,
    "_meta": {},
}
_CALLED: Final[JsonObject] = _complete(
    content=BLOCKS, structuredContent={"a": [1, 2.5, None]}, isError=False
)
_GOT: Final[JsonObject] = _complete(
    description="d", messages=[{"role": "user", "content": BLOCKS[0]}]
)
_READ: Final[JsonObject] = _complete(
    contents=[
        {"uri": "x://r", "mimeType": "text/plain", "text": "t", "_meta": {}},
        {"uri": "x://r", "mimeType": "image/png", "blob": "AAAA"},
    ],
    **CACHED,
)
_DISCOVERED: Final[JsonObject] = _complete(
    supportedVersions=["2026-07-28"], capabilities={"tools": {}}, instructions="Be good", **CACHED
)
_SUGGESTED: Final[JsonObject] = _complete(
    completion={"values": ["a", "b"], "total": 2, "hasMore": False}
)

METHODS: Final[dict[str, Method]] = {
    method.name: method
    for method in (
        Method("server/discover", _DISCOVERED, lambda client: client.discover()),
        Method(
            "tools/list", _complete(tools=[_TOOL], **CACHED), lambda client: client.list_tools()
        ),
        Method(
            "prompts/list",
            _complete(prompts=[_PROMPT], **CACHED),
            lambda client: client.list_prompts(),
        ),
        Method(
            "resources/list",
            _complete(resources=[_RESOURCE], **CACHED),
            lambda client: client.list_resources(),
        ),
        Method(
            "resources/templates/list",
            _complete(resourceTemplates=[_TEMPLATE], **CACHED),
            lambda client: client.list_resource_templates(),
        ),
        Method(
            "completion/complete",
            _SUGGESTED,
            lambda client: client.complete(PromptRef("p"), "a", "v"),
        ),
        Method(
            "tools/call",
            _CALLED,
            lambda client: client.call_tool("called", {"a": 1}),
            _ROUNDS,
        ),
        Method("prompts/get", _GOT, lambda client: client.get_prompt("p", {"a": "1"}), _ROUNDS),
        Method("resources/read", _READ, lambda client: client.read_resource("x://r"), _ROUNDS),
    )
}

ROUNDS: Final = tuple(name for name, method in METHODS.items() if method.has_rounds)
PLAIN: Final = tuple(name for name in METHODS if name not in ROUNDS)
LISTS: Final = tuple(name for name in METHODS if name.endswith("/list"))
ITEMS: Final = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""The member that has the items of each list."""


# -- who answers ------------------------------------------------------------------------------


@frozen
class AtOnce:
    """A schedule without waits."""

    def after(self, polls: int, hint: float | None) -> float:
        return 0.0


async def person(question: FormRequest | UrlRequest) -> Accept:
    """Agrees to everything."""
    return Accept({"name": "dev"} if isinstance(question, FormRequest) else None)


async def model(_: object) -> str:
    """Knows one answer."""
    return "Paris"


def ready(**more: Any) -> Any:
    """The options of a client that answers forms, links and for a model, but lists no roots."""
    return {
        "elicitation": person,
        "sampling": model,
        "schedule": AtOnce(),
        "retry": RetryPolicy(chance=lambda: 0.0),  # at once
        **more,
    }
