"""Arguments: defaults, and what does not fit, told to the model."""

import datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import attrs
import pytest
from attrs import Factory, field, frozen, validators
from hypothesis import given
from hypothesis import strategies as st

from antiphon import Call, DefinitionError, Done, Flow, Meta, Server
from antiphon.engine.jsonrpc import Failure, JsonObject, JsonValue, dumps, loads
from antiphon.engine.schema import Validator, build, derive, plain
from tests.engine.peer import meta, text_of, told
from tests.engine.test_json_door import JSON
from tests.engine.tools import Bake, Order, Shop, serving


class Color(Enum):
    RED = "red"


@frozen
class Point:
    x: int
    y: int = 0


@frozen
class Arguments:
    item: str
    count: Annotated[int, Meta(ge=1, le=5)] = 1
    share: float = 0.5
    points: list[Point] = Factory(list[Point])
    color: Color = Color.RED
    when: datetime.datetime | None = None
    kind: Literal["a", "b"] = "a"
    even: int = field(default=0, validator=validators.in_([0, 2, 4]))


@frozen
class Show(Flow[Arguments]):
    """Show the arguments."""

    async def begin(self, args: Arguments, call: Call[Arguments]) -> Done[str]:
        assert call.args is args
        return Done(repr(args))


async def shown(arguments: JsonValue) -> dict[str, Any]:
    return await serving(Show()).call("show", arguments)


async def test_defaults_fill_what_was_left_out() -> None:
    assert text_of(await shown({"item": "ink"})) == repr(Arguments("ink"))


async def test_arguments_have_their_types() -> None:
    arguments: JsonObject = {
        "item": "größe",
        "count": 5,
        "share": 1,
        "points": [{"x": 1}, {"x": 2, "y": 3}],
        "color": "red",
        "when": "2026-07-28T10:00:00Z",
        "kind": "b",
        "even": 4,
    }
    moment = datetime.datetime(2026, 7, 28, 10, tzinfo=datetime.UTC)
    points = [Point(1), Point(2, 3)]
    expected = Arguments("größe", 5, 1.0, points, Color.RED, moment, "b", 4)
    assert text_of(await shown(arguments)) == repr(expected)


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({}, '"item" is a required property'),
        ({"item": 5}, "item: "),
        ({"item": None}, "item: "),
        ({"item": "x", "count": 0}, "count: 0 is less than the minimum of 1"),
        ({"item": "x", "count": "1"}, "count: "),
        ({"item": "x", "count": True}, "count: "),
        ({"item": "x", "count": 10**300}, "count: "),
        ({"item": "x", "share": "much"}, "share: "),
        ({"item": "x", "points": [{"x": 1}, {"y": 2}]}, 'points.1: "x" is a required property'),
        ({"item": "x", "color": "blue"}, "color: "),
        ({"item": "x", "kind": "c"}, "kind: "),
        ({"item": "x", "unknown": 1}, "'unknown'"),
        ({"item": "x", "even": 3}, ": 'even' must be in [0, 2, 4] (got 3)"),
        ({"item": "x", "when": "yesterday"}, "when: Invalid RFC3339 encoded datetime"),
    ],
)
async def test_what_does_not_fit_is_told_to_the_model(arguments: JsonValue, place: str) -> None:
    text = told(await shown(arguments))
    assert text.startswith("Invalid arguments for show: ")
    assert place in text


async def test_several_faults_are_told_at_once_and_not_without_end() -> None:
    text = told(await shown({"count": 9, "share": "x", "kind": 1}))
    assert text.count("; ") == 4, text
    many: list[JsonValue] = ["x"] * 1000
    text = told(await shown({"item": "x", "points": many}))
    assert text.endswith("and more")
    assert len(text) < 2000


async def test_a_long_value_is_not_echoed_whole() -> None:
    assert len(told(await shown({"item": "x", "kind": "c" * 100_000}))) < 1000


@pytest.mark.parametrize("arguments", [[], "x", 5, True])
async def test_arguments_that_are_no_object_are_a_protocol_error(arguments: JsonValue) -> None:
    refusal = await serving(Show()).refused("show", arguments)
    assert refusal.code == -32602
    assert "arguments" in refusal.message


async def test_absent_and_null_arguments_are_none_at_all() -> None:
    peer = serving(Bake())
    given: list[JsonObject] = [{}, {"arguments": None}, {"arguments": {}}]
    for more in given:
        result = await peer.ask("tools/call", {"name": "bake", **more})
        assert result["resultType"] == "input_required"


@pytest.mark.parametrize("name", [None, 5, [], {}])
async def test_a_tool_is_named_by_text(name: JsonValue) -> None:
    reply = await serving(Bake()).exchange("tools/call", {"_meta": meta(), "name": name})
    assert isinstance(reply, Failure)
    assert reply.code == -32602
    assert "name" in reply.message


async def test_an_unknown_tool_is_a_protocol_error() -> None:
    for name in ("nothing", "", "Bake", "bake ", "\u2028"):
        refusal = await serving(Bake()).refused(name)
        assert (refusal.code, refusal.message) == (-32602, f"Unknown tool: {name}")
    assert len((await serving(Bake()).refused("x" * 100_000)).message) < 200


async def test_nothing_runs_for_arguments_that_do_not_fit() -> None:
    shop = Shop()
    peer = serving(Order(shop))
    told(await peer.call("order", {"item": "ink", "count": 0}))
    assert shop.calls == []


@given(st.dictionaries(st.sampled_from(["item", "count", "points", "when", "x"]), JSON))
async def test_no_arguments_break_the_server(arguments: JsonObject) -> None:
    result = await shown(arguments)
    assert result["resultType"] == "complete"
    assert "error in the server" not in text_of(result)


# -- types on the wire ------------------------------------------------------------------------

EXACT: list[tuple[Any, Any]] = [
    (int, 2**70),
    (float, 0.1),
    (str, "größe"),
    (bool, True),
    (bytes, b"\0\xff"),
    (Decimal, Decimal("1.20")),
    (UUID, UUID(int=7)),
    (datetime.date, datetime.date(2026, 7, 28)),
    (datetime.datetime, datetime.datetime(2026, 7, 28, 10, tzinfo=datetime.UTC)),
    (datetime.time, datetime.time(1, 2, 3)),
    (datetime.timedelta, datetime.timedelta(days=1, seconds=2)),
    (Color, Color.RED),
    (list[int], [1, 2]),
    (tuple[int, ...], (1, 2)),
    (tuple[int, str], (1, "a")),
    (set[str], {"a"}),
    (frozenset[str], frozenset({"a"})),
    (dict[str, int], {"a": 1}),
    (list[Point], [Point(1, 2)]),
    (dict[str, Point], {"a": Point(1)}),
    (Point | None, Point(3)),
    (int | None, None),
    (int | str, "a"),
    (Literal["a", "b"], "a"),
    (Annotated[int, Meta(ge=1)], 3),
]


@pytest.mark.parametrize(("kind", "value"), EXACT, ids=str)
def test_an_argument_of_any_common_type_comes_as_it_was_sent(kind: Any, value: Any) -> None:
    made: type[Any] = attrs.make_class("Made", {"it": attrs.field(type=kind)}, frozen=True)
    schema = derive(made, subject="Made")
    sent = plain(made(value))
    arrived = loads(dumps(sent))
    assert Validator(schema).faults(arrived) == []
    back: Any = build(arrived, made)
    assert back == made(value)
    assert type(back.it) is type(value)


def test_a_recursive_type_refers_to_itself() -> None:
    schema = derive(Tree, subject="Tree")
    assert schema["type"] == "object"
    definitions: Any = schema["$defs"]
    assert list(definitions) == ["Tree"]
    assert "title" not in definitions["Tree"]


@frozen
class Tree:
    value: int
    below: list["Tree"] = Factory(list["Tree"])


async def test_a_recursive_argument_is_taken() -> None:
    @frozen
    class Fell(Flow[Tree]):
        async def begin(self, args: Tree) -> Done[int]:
            return Done(args.below[0].below[0].value)

    leaf: JsonObject = {"value": 3}
    tree: JsonObject = {"value": 1, "below": [{"value": 2, "below": [leaf]}]}
    assert (await serving(Fell()).call("fell", tree))["structuredContent"] == 3


def test_a_type_without_a_schema_is_a_definition_error() -> None:
    @frozen
    class Odd:
        it: object
        other: complex

    @frozen
    class Strange(Flow[Odd]):
        async def begin(self, args: Odd) -> Done[str]:
            return Done("")

    with pytest.raises(DefinitionError, match="Tool strange has a fault"):
        Server("Shop").tool(Strange())
