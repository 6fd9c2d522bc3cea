"""How a result of any kind reaches the client."""

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from attrs import frozen

from antiphon import (
    Audio,
    Done,
    EmbeddedResource,
    Failed,
    Flow,
    Image,
    ResourceLink,
    Text,
    UsageError,
)
from antiphon.engine.content import tool_error, tool_result
from antiphon.engine.jsonrpc import JsonObject, loads
from antiphon.engine.schema import Validator
from tests.engine.peer import text_of, told
from tests.engine.tools import Nothing, serving
from tests.naming import shown

NAN = math.nan


@frozen
class Point:
    x: int
    y: float = 0.5


@frozen
class Give(Flow[Nothing]):
    """Give whatever it was made with."""

    make: Callable[[], Any]

    async def begin(self, args: Nothing) -> Done[Any] | Failed:
        made = self.make()
        return made if isinstance(made, Failed) else Done(made)


async def given(value: object) -> dict[str, Any]:
    result = await serving(Give(lambda: value)).call("give")
    assert result.pop("resultType") == "complete"
    assert "io.modelcontextprotocol/serverInfo" in result.pop("_meta")
    return result


@pytest.mark.parametrize("text", ["", "größe \u2028\n", "1", "{}"])
async def test_text_is_a_text_block_and_nothing_more(text: str) -> None:
    assert await given(text) == {"content": [{"type": "text", "text": text}]}


async def test_none_is_no_content() -> None:
    assert await given(None) == {"content": []}


@pytest.mark.parametrize(
    ("value", "structured"),
    [
        (Point(1), {"x": 1, "y": 0.5}),
        ([Point(1), Point(2, 3.0)], [{"x": 1, "y": 0.5}, {"x": 2, "y": 3.0}]),
        ({"a": Point(1), "b": None}, {"a": {"x": 1, "y": 0.5}, "b": None}),
        ([1, "a", None], [1, "a", None]),
        ((1, 2), [1, 2]),
        ([], []),
        ({}, {}),
        ({1: "a"}, {"1": "a"}),
        (0, 0),
        (2**70, 2**70),
        (-0.5, -0.5),
        (True, True),
        (False, False),
        (Decimal("1.20"), "1.20"),
        (datetime.date(2026, 7, 28), "2026-07-28"),
        ({"a"}, ["a"]),
    ],
    ids=str,
)
async def test_any_other_value_is_structured_and_told_as_text_too(
    value: Any, structured: Any
) -> None:
    result = await given(value)
    assert result["structuredContent"] == structured
    assert type(result["structuredContent"]) is type(structured)
    assert loads(text_of(result).encode()) == structured
    assert len(result["content"]) == 1


BLOCKS: list[tuple[Any, JsonObject]] = [
    (Text("a"), {"type": "text", "text": "a"}),
    (Image(b"\0\xff", "image/png"), {"type": "image", "data": "AP8=", "mimeType": "image/png"}),
    (Audio(b"", "audio/wav"), {"type": "audio", "data": "", "mimeType": "audio/wav"}),
    (
        ResourceLink("file:///a", "a"),
        {"type": "resource_link", "uri": "file:///a", "name": "a"},
    ),
    (
        ResourceLink("file:///a", "a", "An a", "text/plain"),
        {
            "type": "resource_link",
            "uri": "file:///a",
            "name": "a",
            "description": "An a",
            "mimeType": "text/plain",
        },
    ),
    (
        EmbeddedResource("file:///a", "text"),
        {"type": "resource", "resource": {"uri": "file:///a", "text": "text"}},
    ),
    (
        EmbeddedResource("file:///a", b"\0", "application/octet-stream"),
        {
            "type": "resource",
            "resource": {
                "uri": "file:///a",
                "blob": "AA==",
                "mimeType": "application/octet-stream",
            },
        },
    ),
]


@pytest.mark.parametrize(("block", "wire"), BLOCKS, ids=str)
async def test_a_content_block_is_sent_as_it_is(block: Any, wire: JsonObject) -> None:
    assert await given(block) == {"content": [wire]}


async def test_blocks_keep_their_order() -> None:
    blocks = [block for block, _ in BLOCKS]
    wires = [wire for _, wire in BLOCKS]
    assert await given(blocks) == {"content": wires}
    assert await given(tuple(blocks)) == {"content": wires}


@pytest.mark.parametrize(
    "value",
    [
        NAN,
        math.inf,
        [1.0, -math.inf],
        (1.0, NAN),
        ((NAN,),),
        {"a": {"b": [NAN]}},
        Point(1, NAN),
        object(),
        lambda: None,
        {"a": object()},
        {(1, 2): 3},
        [Text("a"), 1],
        "\ud800",
        Text("\ud800"),
        ["\udcff"],
        {"\ud800": 1},
    ],
    ids=shown,
)
async def test_what_json_cannot_say_is_a_masked_error(
    value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    result = await serving(Give(lambda: value)).call("give")
    assert told(result) == "give failed because of an error in the server. It has been logged."
    (record,) = caplog.records
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], UsageError)


def test_the_fault_says_what_cannot_be_said() -> None:
    with pytest.raises(UsageError, match="NaN and infinities"):
        tool_result([NAN])
    with pytest.raises(UsageError, match="no JSON form"):
        tool_result(object())


async def test_a_failure_is_an_error_for_the_model() -> None:
    result = await serving(Give(lambda: Failed("Out of ink."))).call("give")
    assert told(result) == "Out of ink."
    assert "structuredContent" not in result


def test_half_a_surrogate_pair_does_not_hide_the_rest_of_a_failure() -> None:
    assert tool_error("no file \udcff here") == {
        "content": [{"type": "text", "text": "no file ? here"}],
        "isError": True,
    }


# -- output schemas ---------------------------------------------------------------------------


@frozen
class Pointed(Flow[Nothing]):
    async def begin(self, args: Nothing) -> Done[list[Point]] | Failed:
        return Done([Point(1)])


@frozen
class Various(Flow[Nothing]):
    async def begin(self, args: Nothing) -> Done[Point] | Done[int]:
        return Done(1)


@frozen
class Said(Flow[Nothing]):
    async def begin(self, args: Nothing) -> Done[str]:
        return Done("said")


@frozen
class Shown(Flow[Nothing]):
    async def begin(self, args: Nothing) -> Done[list[Image | Text]]:
        return Done([Text("shown")])


@frozen
class Perhaps(Flow[Nothing]):
    async def begin(self, args: Nothing) -> Done[Point | None]:
        return Done(None)


async def test_a_result_fits_the_schema_that_was_listed() -> None:
    peer = serving(Pointed())
    (tool,) = (await peer.ask("tools/list"))["tools"]
    result = await peer.call("pointed")
    assert tool["outputSchema"]["type"] == "array"
    assert Validator(tool["outputSchema"]).faults(result["structuredContent"]) == []


@pytest.mark.parametrize("flow", [Various(), Said(), Shown(), Perhaps(), Give(lambda: None)])
async def test_no_schema_is_promised_where_not_every_result_would_fit(flow: Flow[Any]) -> None:
    peer = serving(flow)
    (tool,) = (await peer.ask("tools/list"))["tools"]
    assert "outputSchema" not in tool
    assert "isError" not in await peer.call(flow.name)
