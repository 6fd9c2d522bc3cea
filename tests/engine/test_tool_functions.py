"""Plain functions as tools."""

import datetime
import inspect
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Literal, TypeVar

import attrs
import pytest
from attrs import frozen

from antiphon import Call, DefinitionError, Image, Meta, Server, Structured, Text, UsageError
from antiphon.engine.errors import INVALID_PARAMS
from antiphon.engine.sealing import INVALID_STATE
from tests.engine.peer import KEY, Peer, members, text_of, told


@frozen
class Point:
    x: int
    y: int = 0


def without_hint(function: Any, name: str) -> Any:
    """The function as one whose author left out a type."""
    del function.__annotations__[name]
    return function


@pytest.fixture
def server() -> Server:
    return Server("Tools", keys=[KEY])


async def listed(server: Server) -> dict[str, Any]:
    (tool,) = (await Peer(server).ask("tools/list"))["tools"]
    return members(tool)


async def test_a_function_is_listed_as_its_signature_says(server: Server) -> None:
    @server.tool
    async def add(a: int, b: Annotated[int, Meta(description="The other", ge=0)] = 1) -> int:
        """Add two numbers.

        The second is one by default.
        """
        return a + b

    assert await listed(server) == {
        "name": "add",
        "description": "Add two numbers.\n\nThe second is one by default.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "a": {"type": "integer"},
                "b": {
                    "type": "integer",
                    "description": "The other",
                    "minimum": 0,
                    "default": 1,
                },
            },
            "required": ["a"],
            "additionalProperties": False,
        },
        "outputSchema": {"type": "integer"},
    }
    result = await Peer(server).call("add", {"a": 2})
    assert (result["structuredContent"], text_of(result)) == (3, "3")
    assert (await Peer(server).call("add", {"a": 2, "b": 5}))["structuredContent"] == 7
    assert "b: " in told(await Peer(server).call("add", {"a": 2, "b": -1}))
    assert "'c'" in told(await Peer(server).call("add", {"a": 2, "c": 1}))


async def test_the_decorator_hands_the_function_back(server: Server) -> None:
    @server.tool
    async def one() -> int:
        return 1

    @server.tool(name="number two", title="Two")
    async def two() -> int:
        return 2

    assert await one() == 1
    assert await two() == 2
    tools = (await Peer(server).ask("tools/list"))["tools"]
    assert [(tool["name"], tool.get("title")) for tool in tools] == [
        ("one", None),
        ("number two", "Two"),
    ]
    assert (await Peer(server).call("number two"))["structuredContent"] == 2


async def test_a_function_without_a_docstring_has_no_description(server: Server) -> None:
    @server.tool
    async def silent() -> None: ...

    assert "description" not in await listed(server)


async def test_a_call_parameter_is_filled_and_not_listed(server: Server) -> None:
    seen: list[Call[Any]] = []

    @server.tool
    async def typed(a: int, at: Call[Any]) -> str:
        seen.append(at)
        return at.flow_id

    async def untyped(call: Call[Any], a: int = 1) -> str:
        seen.append(call)
        return "seen"

    server.tool(without_hint(untyped, "call"))

    for tool in (await Peer(server).ask("tools/list"))["tools"]:
        assert list(tool["inputSchema"]["properties"]) == ["a"]
    result = await Peer(server).call("typed", {"a": 1})
    await Peer(server).call("untyped")
    assert text_of(result) == seen[0].flow_id != ""
    assert (seen[0].args.a, seen[1].args.a, seen[0].round) == (1, 1, 1)
    assert "'at'" in told(await Peer(server).call("typed", {"a": 1, "at": {}}))


async def test_a_parameter_that_is_merely_named_call_is_an_argument(server: Server) -> None:
    @server.tool
    async def ring(call: str) -> str:
        return call

    assert text_of(await Peer(server).call("ring", {"call": "Alice"})) == "Alice"


async def test_arguments_arrive_with_their_types(server: Server) -> None:
    @server.tool
    async def typed(
        point: Point,
        *,
        when: datetime.date,
        kinds: list[Literal["a", "b"]],
        maybe: Point | None = None,
    ) -> str:
        return repr((point, when, kinds, maybe))

    result = await Peer(server).call(
        "typed",
        {"point": {"x": 1}, "when": "2026-07-28", "kinds": ["b"], "maybe": {"x": 2, "y": 3}},
    )
    expected = (Point(1), datetime.date(2026, 7, 28), ["b"], Point(2, 3))
    assert text_of(result) == repr(expected)


async def test_methods_of_objects_are_functions_too(server: Server) -> None:
    class Counter:
        def __init__(self) -> None:
            self.count = 0

        async def up(self, by: int = 1) -> int:
            """Count up."""
            self.count += by
            return self.count

    counter = Counter()
    server.tool(counter.up)
    assert (await listed(server))["description"] == "Count up."
    assert (await Peer(server).call("up", {"by": 5}))["structuredContent"] == 5
    assert counter.count == 5


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (int, {"type": "integer"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, bool], {"type": "object", "additionalProperties": {"type": "boolean"}}),
        (Literal["a"], {"type": "string", "enum": ["a"]}),
        (int | float, {"anyOf": [{"type": "integer"}, {"type": "number"}]}),
        (str, None),
        (None, None),
        (Any, None),
        (object, None),
        (Text, None),
        (Image | str, None),
        (list[Text | Image], None),
        (tuple[Text, ...], None),
        (int | None, None),
        (Structured[str], {"type": "string"}),
        (Structured[None], {"type": "null"}),
        (Structured[Any], None),
        (Structured, None),
        (inspect.Parameter.empty, None),
        (TypeVar("T"), None),
    ],
    ids=str,
)
async def test_the_output_schema_is_that_of_the_return_type(
    server: Server, hint: Any, schema: object
) -> None:
    async def made():  # type: ignore[no-untyped-def]  # its hint is given below
        return None

    if hint is not inspect.Parameter.empty:
        made.__annotations__["return"] = hint
    server.tool(made)
    assert (await listed(server)).get("outputSchema") == schema


async def test_an_attrs_result_is_structured(server: Server) -> None:
    @server.tool
    async def origin() -> Point:
        return Point(0)

    assert (await listed(server))["outputSchema"]["required"] == ["x"]
    assert (await Peer(server).call("origin"))["structuredContent"] == {"x": 0, "y": 0}


# -- what cannot be a tool --------------------------------------------------------------------


async def no_type(a: Any, b: int) -> None: ...


async def many(*a: int) -> None: ...


async def named(**a: int) -> None: ...


async def positional(a: int, /) -> None: ...


async def unresolved(a: Any) -> None: ...


unresolved.__annotations__["a"] = "Nowhere"


async def foreign(a: complex) -> None: ...


async def foreign_result() -> Callable[[], int]: ...  # type: ignore[empty-body]


async def two_calls(one: Call[Any], other: Call[Any]) -> None: ...


def waits() -> None: ...


FAULTY: list[tuple[Any, str]] = [
    (without_hint(no_type, "a"), "parameter 'a' has no type"),
    (many, "parameter 'a' takes whatever comes"),
    (named, "parameter 'a' takes whatever comes"),
    (positional, "parameter 'a' is positional-only"),
    (unresolved, "'Nowhere' is not defined"),
    (foreign, "no JSON Schema"),
    (foreign_result, "its result Callable.* has no JSON Schema"),
    (two_calls, "parameters 'one' and 'other' are both a Call"),
    (waits, "must be `async def`"),
]


@pytest.mark.parametrize(
    ("function", "told"), FAULTY, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_signature_that_is_no_tools_is_refused(
    server: Server, function: Callable[..., Coroutine[Any, Any, None]], told: str
) -> None:
    with pytest.raises(DefinitionError, match=told) as caught:
        server.tool(function)
    assert caught.value.subject == f"Tool {function.__name__}"
    assert len(server.tools) == 0


def test_all_faults_of_a_signature_are_told_at_once(server: Server) -> None:
    async def faulty(a: int, /, b: Any, *c: int, **d: int) -> None: ...

    with pytest.raises(DefinitionError) as caught:
        server.tool(without_hint(faulty, "b"))
    assert len(caught.value.faults) == 4


def test_a_name_is_taken_once_by_functions_too(server: Server) -> None:
    async def one() -> None: ...

    server.tool(one)
    with pytest.raises(UsageError, match="registered already"):
        server.tool(one)


async def test_a_plain_tool_refuses_any_state(server: Server) -> None:
    @server.tool
    async def add(a: int) -> int:
        return a

    for state in ("", "x", "a1.AAAA", "a1." + "A" * 200):
        refusal = await Peer(server).refused("add", {"a": 1}, state=state)
        assert (refusal.code, refusal.message, refusal.data) == (
            INVALID_PARAMS,
            INVALID_STATE,
            None,
        )


async def test_answers_that_nobody_asked_for_are_ignored(server: Server) -> None:
    @server.tool
    async def add(a: int) -> int:
        return a

    responses = {"a": {"action": "accept", "content": {"a": 5}}}
    result = await Peer(server).call("add", {"a": 1}, responses=responses)
    assert result["structuredContent"] == 1


async def test_a_function_defined_elsewhere_with_text_annotations(server: Server) -> None:
    async def later(points: "list[Point]", name: "str | None" = None) -> "list[Point]":
        return [attrs.evolve(point, y=9) for point in points]

    server.tool(later)
    result = await Peer(server).call("later", {"points": [{"x": 1}]})
    assert result["structuredContent"] == [{"x": 1, "y": 9}]
    schema = (await listed(server))["inputSchema"]
    assert schema["properties"]["points"]["items"] == {"$ref": "#/$defs/Point"}


async def test_names_inside_a_generic_are_resolved(server: Server) -> None:
    async def nested(points: list["Point"]) -> int:
        return points[0].x

    server.tool(nested)
    result = await Peer(server).call("nested", {"points": [{"x": 4}]})
    assert result["structuredContent"] == 4


def test_a_choice_of_numbers_says_that_it_is_one_of_integers() -> None:
    server = Server("Work")

    @server.tool
    async def work(level: Literal[1, 2]) -> None: ...

    (tool,) = server.tools
    schema: Any = tool.description["inputSchema"]
    assert schema["properties"]["level"] == {"type": "integer", "enum": [1, 2]}
