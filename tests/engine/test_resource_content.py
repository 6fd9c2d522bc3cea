"""How a result becomes the contents of a resource."""

from typing import Any

import pytest
from attrs import frozen

from antiphon import Image, UsageError
from antiphon.engine.jsonrpc import JsonObject
from antiphon.engine.resource_content import ResourceContents, resource_contents
from tests.naming import shown

URI = "x:read"


@frozen
class Point:
    x: int
    y: float = 0.5


def test_text_is_text() -> None:
    assert resource_contents("ü", URI) == [{"uri": URI, "text": "ü"}]
    assert resource_contents("", URI, "text/plain") == [
        {"uri": URI, "text": "", "mimeType": "text/plain"}
    ]


@pytest.mark.parametrize("data", [b"\0\xff", bytearray(b"\0\xff")])
def test_bytes_are_a_blob(data: bytes) -> None:
    assert resource_contents(data, URI, "image/png") == [
        {"uri": URI, "blob": "AP8=", "mimeType": "image/png"}
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Point(1), '{"x":1,"y":0.5}'),
        ([Point(1)], '[{"x":1,"y":0.5}]'),
        ({"a": None}, '{"a":null}'),
        ([], "[]"),
        (0, "0"),
        (False, "false"),
    ],
    ids=str,
)
def test_any_other_value_is_its_json(value: object, text: str) -> None:
    assert resource_contents(value, URI) == [
        {"uri": URI, "text": text, "mimeType": "application/json"}
    ]
    (contents,) = resource_contents(value, URI, "application/geo+json")
    assert contents["mimeType"] == "application/geo+json"


def test_contents_say_more_than_the_registration() -> None:
    value = ResourceContents(b"", uri="x:part", mime_type="a/b", meta={"example.org/a": 1})
    expected: JsonObject = {
        "uri": "x:part",
        "blob": "",
        "mimeType": "a/b",
        "_meta": {"example.org/a": 1},
    }
    assert resource_contents(value, URI, "text/plain") == [expected]


def test_several_contents_are_sent_in_order() -> None:
    parts = (ResourceContents("1"), ResourceContents("2", uri="x:other"))
    assert resource_contents(parts, URI, "text/plain") == [
        {"uri": URI, "text": "1", "mimeType": "text/plain"},
        {"uri": "x:other", "text": "2", "mimeType": "text/plain"},
    ]
    assert resource_contents(list(parts), URI, "text/plain") == resource_contents(
        parts, URI, "text/plain"
    )


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "gave None"),
        (Image(b"", "image/png"), "gave a Image, which is for tools and prompts"),
        ([ResourceContents("a"), "b"], "holds nothing else"),
        (object(), "no JSON form"),
        (float("nan"), "no JSON form"),
        ("\ud800", "lone surrogate"),
        (ResourceContents("a", meta={"a": "\ud800"}), "lone surrogate"),
    ],
    ids=shown,
)
def test_what_is_no_contents_is_refused(value: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        resource_contents(value, URI)


def test_a_mime_type_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="ResourceContents: mime_type 'png'"):
        ResourceContents("a", mime_type="png")
