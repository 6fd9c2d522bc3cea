"""What something is registered with: a value of the wrong kind reaches no list."""

from __future__ import annotations

from typing import Any, Final, Literal

import pytest
from attrs import frozen

from antiphon import Annotations, DefinitionError, Done, Flow, Icon, ToolAnnotations, UsageError
from tests.engine.offering import offering
from tests.engine.peer import Peer

ICON = Icon("https://example.com/a.png")


async def text() -> str:
    """What it does."""
    return ""


async def one_id(id: str) -> str:
    return id


Registering = Literal["tool", "prompt", "resource", "resource_template"]
KINDS: Final[list[Registering]] = ["tool", "prompt", "resource", "resource_template"]


def register(kind: Registering, options: dict[str, Any]) -> Peer:
    server = offering()
    match kind:
        case "tool":
            server.tool(**options)(text)
        case "prompt":
            server.prompt(**options)(text)
        case "resource":
            server.resource("x://y", **options)(text)
        case "resource_template":
            server.resource_template("x://{id}", **options)(one_id)
    return Peer(server)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"name": 5}, "name must be text, not int"),
        ({"title": 5}, "title must be text, not int"),
        ({"description": 7}, "description must be text, not int"),
        ({"icons": ICON}, "icons must be a list of icons"),
        ({"icons": ["https://example.com/a.png"]}, "icons must be a list of icons"),
        ({"meta": ["x"]}, "meta must be a dict"),
        ({"meta": {"a team": "x"}}, "meta has the key 'a team', which is no key of _meta"),
        ({"meta": {5: "x"}}, "meta has the key 5, which is no key of _meta"),
        ({"needs": ["sampling"]}, "needs must be a dict"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(
    kind: Registering, options: dict[str, Any], fault: str
) -> None:
    with pytest.raises(DefinitionError, match=f"server.{kind} has a fault:\n  - {fault}"):
        register(kind, options)


@pytest.mark.parametrize("kind", KINDS[2:])
@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"ttl_ms": "5"}, "ttl_ms must be a whole number, not str"),
        ({"ttl_ms": 1.5}, "ttl_ms must be a whole number, not 1.5"),
        ({"ttl_ms": True}, "ttl_ms must be a whole number, not bool"),
        ({"cache_scope": "shared"}, "cache_scope 'shared' is neither 'public' nor 'private'"),
        ({"mime_type": 5}, "mime_type 5 is none"),
        ({"annotations": {"priority": 1}}, r"annotations must be Annotations\(...\), not dict"),
        ({"annotations": ToolAnnotations()}, r"must be Annotations\(...\), not ToolAnnotations"),
    ],
)
def test_so_it_is_of_what_is_read(kind: Registering, options: dict[str, Any], fault: str) -> None:
    with pytest.raises(DefinitionError, match=fault):
        register(kind, options)


def test_a_size_is_a_whole_number() -> None:
    with pytest.raises(DefinitionError, match="size must be a whole number, not str"):
        register("resource", {"size": "5"})


@pytest.mark.parametrize("wrong", [{"readOnlyHint": True}, Annotations(["user"])])
def test_a_tool_has_the_annotations_of_tools(wrong: Any) -> None:
    with pytest.raises(DefinitionError, match=r"annotations must be ToolAnnotations\(...\), not"):
        register("tool", {"annotations": wrong})


def test_all_values_that_do_not_fit_are_told_at_once() -> None:
    with pytest.raises(DefinitionError) as caught:
        register("resource", {"title": 5, "ttl_ms": 1.5, "icons": None, "meta": {"a b": 1}})
    assert len(caught.value.faults) == 3


@pytest.mark.parametrize("kind", KINDS)
async def test_none_is_the_same_as_nothing(kind: Registering) -> None:
    names = ["name", "title", "description", "icons", "meta", "needs"]
    more = ["ttl_ms", "cache_scope", "mime_type"] if kind in KINDS[2:] else []
    peer = register(kind, dict.fromkeys([*names, *more]))
    lists = {"tool": "tools", "prompt": "prompts"}
    method = lists.get(kind, "resources" + "/templates" * (kind == "resource_template"))
    listed = await peer.ask(f"{method}/list")
    plain = await register(kind, {}).ask(f"{method}/list")
    assert listed == plain


@frozen
class Nothing:
    pass


@frozen
class Untitled(Flow[Nothing]):
    title = 5  # type: ignore[assignment]  # the mistake

    async def begin(self, args: Nothing) -> Done[str]:
        return Done("")


def test_what_a_flow_says_of_itself_is_text() -> None:
    with pytest.raises(DefinitionError, match="Flow Untitled has a fault:\n  - title must be text"):
        offering().tool(Untitled())


@pytest.mark.parametrize("decorator", ["resource", "resource_template"])
def test_a_decorator_that_needs_a_uri_is_not_used_without(decorator: str) -> None:
    decorate: Any = getattr(offering(), decorator)
    with pytest.raises(UsageError, match=rf"write @server.{decorator}\('\w+://"):
        decorate(text)
