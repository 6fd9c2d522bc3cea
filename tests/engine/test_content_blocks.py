"""Content blocks with all that they may carry."""

from typing import Any

import pytest

from antiphon import Audio, EmbeddedResource, Image, ResourceLink, Text, UsageError
from antiphon.engine.content import Block, Structured, tool_result
from antiphon.engine.display import Annotations, Icon
from antiphon.engine.jsonrpc import JsonObject, dumps
from tests.naming import shown

NOTED = Annotations(audience=["user"], priority=0.5)
NOTES: JsonObject = {"audience": ["user"], "priority": 0.5}
META: JsonObject = {"example.org/a": [1, None]}


@pytest.mark.parametrize(
    "block",
    [
        Text("a", annotations=NOTED, meta=META),
        Image(b"", "image/png", annotations=NOTED, meta=META),
        Audio(b"", "audio/wav", annotations=NOTED, meta=META),
        ResourceLink("x:a", "a", annotations=NOTED, meta=META),
        EmbeddedResource("x:a", "a", annotations=NOTED, meta=META),
    ],
    ids=lambda block: type(block).__name__,
)
def test_every_block_carries_annotations_and_meta(block: Block) -> None:
    wire = block.wire()
    assert wire["annotations"] == NOTES
    assert wire["_meta"] == META
    assert tool_result([block]) == {"content": [wire]}


def test_a_link_carries_all_that_a_resource_is_listed_with() -> None:
    link = ResourceLink(
        "x:a",
        "a",
        "An a",
        "text/plain",
        title="The a",
        size=0,
        icons=[Icon("https://example.org/a.png")],
    )
    assert link.wire() == {
        "type": "resource_link",
        "uri": "x:a",
        "name": "a",
        "title": "The a",
        "description": "An a",
        "mimeType": "text/plain",
        "size": 0,
        "icons": [{"src": "https://example.org/a.png"}],
    }


def test_annotations_of_an_embedded_resource_are_the_blocks() -> None:
    wire = EmbeddedResource("x:a", "a", annotations=NOTED).wire()
    assert wire["resource"] == {"uri": "x:a", "text": "a"}


@pytest.mark.parametrize("kind", ["png", "", "image/", "image/png\n", "image /png", "ü/a"])
def test_a_mime_type_that_is_none_is_refused(kind: str) -> None:
    with pytest.raises(UsageError, match="Image: mime_type"):
        Image(b"", kind)
    with pytest.raises(UsageError, match="EmbeddedResource: mime_type"):
        EmbeddedResource("x:a", "", kind)


@pytest.mark.parametrize("kind", ["text/plain; charset=utf-8", "image/svg+xml", "a/b.c-d"])
def test_a_mime_type_may_have_parameters(kind: str) -> None:
    assert Audio(b"", kind).wire()["mimeType"] == kind


def test_a_size_below_zero_is_refused() -> None:
    with pytest.raises(UsageError, match="ResourceLink: size must not be negative"):
        ResourceLink("x:a", "a", size=-1)


@pytest.mark.parametrize(
    "block",
    [
        ResourceLink("x:\ud800", "a"),
        ResourceLink("x:a", "a", title="\ud800"),
        EmbeddedResource("x:a", "\ud800"),
        EmbeddedResource("x:\ud800", b""),
        Text("a", meta={"a": "\ud800"}),
        Text("a", meta={"a": float("nan")}),
        Image(b"", "image/png", meta={"a": object()}),  # type: ignore[dict-item]  # the mistake
    ],
    ids=shown,
)
def test_what_json_cannot_say_is_told_when_the_block_is_sent(block: Block) -> None:
    with pytest.raises(UsageError):
        block.wire()


# -- results of tools -------------------------------------------------------------------------


def test_text_among_blocks_is_a_text_block() -> None:
    result = tool_result(["See:", Image(b"", "image/png")])
    assert [block["type"] for block in blocks_of(result)] == ["text", "image"]
    assert "structuredContent" not in result


def blocks_of(result: JsonObject) -> list[Any]:
    content = result["content"]
    assert isinstance(content, list)
    return content


def test_blocks_among_other_values_are_refused() -> None:
    with pytest.raises(UsageError, match="holds a int"):
        tool_result([Text("a"), 1])


@pytest.mark.parametrize("value", [None, "text", "ü", True, 0, 1.5, [], {}, ["a"], {"a": None}])
def test_a_structured_result_is_structured_whatever_it_is(value: Any) -> None:
    result = tool_result(Structured(value))
    assert result["structuredContent"] == value
    assert type(result["structuredContent"]) is type(value)
    assert result["content"] == [{"type": "text", "text": dumps(value).decode()}]


def test_a_structured_result_may_be_told_in_other_words() -> None:
    result = tool_result(Structured({"a": 1}, ["One a.", Text("Only one.")]))
    assert result["structuredContent"] == {"a": 1}
    assert [block["text"] for block in blocks_of(result)] == ["One a.", "Only one."]


@pytest.mark.parametrize("value", ["\ud800", float("nan"), {"a": object()}])
def test_a_structured_result_has_a_json_form(value: Any) -> None:
    with pytest.raises(UsageError):
        tool_result(Structured(value, "said otherwise"))
