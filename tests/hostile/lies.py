"""What a server can say wrongly: a name, what it makes of the truth, and what a client gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from attrs import frozen

from antiphon.engine.call_errors import QuestionRefused
from antiphon.engine.errors import AntiphonError, InvalidReply
from antiphon.engine.jsonrpc import JsonObject
from tests.client.scripted import REGION, ROOTS, asks, form, link, poll, sampling
from tests.hostile.methods import ITEMS, LISTS, METHODS, PLAIN, ROUNDS

SERVER: Final = "io.modelcontextprotocol/serverInfo"
LONG: Final = "x" * 100_000
ESCAPES: Final = "\x1b[2J\x1b]0;pwn\x07hel\u202elo\r\n\u2028WARN forged"

Tell = Callable[[JsonObject], Any]


@frozen
class Lie:
    """One way in which a result can be wrong.

    Attributes:
        name: for the test's name.
        tell: makes the false result of the true one.
        where: the methods that can be answered so.
        error: what the client raises; None where it does no harm.
        match: what the error says.
    """

    name: str
    tell: Tell
    where: Sequence[str] = tuple(METHODS)
    error: type[AntiphonError] | None = InvalidReply
    match: str = ""


def _put(**members: Any) -> Tell:
    return lambda true: {**true, **members}


def _only(result: Any) -> Tell:
    return lambda _: result


def _item(change: Callable[[dict[str, Any]], Any]) -> Tell:
    """The first item of a list, changed."""

    def tell(true: dict[str, Any]) -> Any:
        (member,) = set(ITEMS.values()) & true.keys()
        return {**true, member: [change(true[member][0])]}

    return tell


def _items(value: Any) -> Tell:
    def tell(true: dict[str, Any]) -> Any:
        (member,) = set(ITEMS.values()) & true.keys()
        return {**true, member: value}

    return tell


def _part(member: str, change: Callable[[dict[str, Any]], Any]) -> Tell:
    """The first of what a complete result brings, changed."""
    method = {"messages": "prompts/get", "contents": "resources/read"}[member]
    good: dict[str, Any] = METHODS[method].good
    return _only({**good, member: [change(good[member][0])]})


def _completion(**members: Any) -> Tell:
    good: dict[str, Any] = METHODS["completion/complete"].good
    return _only({**good, "completion": {**good["completion"], **members}})


def _question(question: Any) -> Tell:
    return _only(asks({"good": form(), "bad": question}, "lie"))


HAVE_META: Final = ("server/discover", *ROUNDS)
"""Results whose ``_meta`` the client reads, and wants to be an object."""
CACHED: Final = ("server/discover", *LISTS, "resources/read")

_SHAPES: Final[dict[str, Any]] = {
    "null": None,
    "true": True,
    "a number": 3,
    "a text": "x",
    "a list": ["x"],
    "an object": {"x": 1},
}


def _shapes(what: str, *good: str) -> list[tuple[str, Any]]:
    return [(f"{what} is {name}", value) for name, value in _SHAPES.items() if name not in good]


# -- any result -------------------------------------------------------------------------------

ANY: Final = [
    *(
        Lie(f"a type of result that is {kind!r}", _put(resultType=kind), match="does not know")
        for kind in ("task", "INPUT_REQUIRED", "", 3, None, True, ["complete"], {"complete": 1})
    ),
    Lie("a result of nothing", _only({})),
    Lie("a result of another method", _only({"resultType": "complete", "value": 1})),
    *(
        Lie(name, _put(_meta=value), HAVE_META, match="_meta")
        for name, value in _shapes("_meta", "an object", "null")
    ),
    Lie("_meta is null", _put(_meta=None), HAVE_META, None),
    *(
        Lie(
            name + ", where it is not read",
            _put(_meta=value),
            (*LISTS, "completion/complete"),
            None,
        )
        for name, value in _shapes("_meta", "an object")
    ),
    *(Lie(name, _put(_meta={SERVER: value}), error=None) for name, value in _shapes("serverInfo")),
    *(
        Lie(name, _put(_meta={SERVER: {"name": value}}), error=None)
        for name, value in _shapes("the server's name")
    ),
    Lie("a server's name without end", _put(_meta={SERVER: {"name": LONG}}), error=None),
    Lie("a server's name for terminals", _put(_meta={SERVER: {"name": ESCAPES}}), error=None),
    Lie("5000 further members", _put(**{f"m{n}": n for n in range(5000)}), error=None),
    *(Lie(name, _put(ttlMs=value), CACHED, None) for name, value in _shapes("ttlMs", "a number")),
    *(Lie(name, _put(cacheScope=value), CACHED, None) for name, value in _shapes("cacheScope")),
    Lie("a cacheScope without end", _put(cacheScope=LONG), CACHED, None),
]

# -- results that cannot be interim -----------------------------------------------------------

NEVER_INTERIM: Final = [
    Lie("a question where there are none", _only(asks()), PLAIN, match="this method cannot have"),
    Lie("a poll where there are none", _only(poll()), PLAIN, match="this method cannot have"),
]

# -- interim results --------------------------------------------------------------------------

_INTERIM: Final[JsonObject] = {"resultType": "input_required"}

INTERIM: Final = [
    Lie("an interim result of nothing", _only(_INTERIM), ROUNDS, match="neither questions nor"),
    Lie(
        "an interim result without questions and state",
        _only({**_INTERIM, "inputRequests": {}, "requestState": None}),
        ROUNDS,
        match="neither questions nor",
    ),
    *(
        Lie(name, _only({**_INTERIM, "requestState": value}), ROUNDS)
        for name, value in _shapes("the state", "a text")
    ),
    *(
        Lie(name, _only({**_INTERIM, "inputRequests": value, "requestState": "s"}), ROUNDS)
        for name, value in _shapes("what is asked", "an object")
    ),
    Lie(
        "17 questions",
        _only(asks({f"q{n}": form() for n in range(17)})),
        ROUNDS,
        match="limit questions is 16",
    ),
]

_REFUSED: Final = {
    "roots, which nobody lists": ROOTS,
    "a model with tools": sampling(tools=[]),
    "a model that chooses tools": sampling(toolChoice={"mode": "auto"}),
}
_SCHEMA: Final[Any] = {"type": "object", "properties": {}}

_MALFORMED: Final[dict[str, Any]] = {
    **dict(_shapes("a question", "an object")),
    "a question of no method": {},
    "a question by a method of servers": {"method": "tools/call", "params": {}},
    **{
        name: {"method": value, "params": {}} for name, value in _shapes("the method of a question")
    },
    **{
        name: {"method": "elicitation/create", "params": value}
        for name, value in _shapes("what a question brings")
    },
    **{name: form(message=value) for name, value in _shapes("the words", "a text")},
    **{name: form(mode=value) for name, value in _shapes("the mode")},
    **{name: form(schema=value) for name, value in _shapes("the form")},
    "a form of nothing": form(schema={}),
    "a form in a form": form(schema={**_SCHEMA, "properties": {"a": _SCHEMA}}),
    "a form of 1001 fields": form(
        schema={**_SCHEMA, "properties": {f"f{n}": {"type": "string"} for n in range(1001)}}
    ),
    "a form that wants what it has not": form(schema={**REGION, "required": ["size"]}),
    "a form that refers abroad": form(
        schema={**_SCHEMA, "properties": {"a": {"$ref": "https://evil.example/s"}}}
    ),
    "a form that refers to itself": form(
        schema={
            **_SCHEMA,
            "properties": {"a": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"$ref": "#/$defs/a"}},
        }
    ),
    "a form with a pattern that is no text": form(
        schema={**_SCHEMA, "properties": {"a": {"type": "string", "pattern": 3}}}
    ),
    **{name: link(value) for name, value in _shapes("the address")},
    "an address that runs": link("javascript:alert(1)"),
    "an address that is shown otherwise": link("https://good.example/\u202emoc"),
    **{name: sampling(messages=value) for name, value in _shapes("the messages")},
    **{name: sampling(maxTokens=value) for name, value in _shapes("the most", "a number")},
    "fewer than no words": sampling(maxTokens=-1),
}

QUESTIONS: Final = [
    *(
        Lie(name, _question(asked), ROUNDS, QuestionRefused, "nothing was sent")
        for name, asked in _REFUSED.items()
    ),
    *(
        Lie(name, _question(asked), ROUNDS, match="'bad' .* is malformed")
        for name, asked in _MALFORMED.items()
    ),
    Lie(
        "a question whose name has no end",
        _only(asks({LONG: {"method": LONG}})),
        ROUNDS,
        match="is malformed",
    ),
    Lie(
        "a question whose name is for terminals",
        _only(asks({ESCAPES: {"method": ESCAPES}})),
        ROUNDS,
        match="is malformed",
    ),
]

# -- complete results -------------------------------------------------------------------------

_TOOL: Final = ("tools/call",)
_PROMPT: Final = ("prompts/get",)
_READ: Final = ("resources/read",)


def _without(name: str) -> Callable[[dict[str, Any]], Any]:
    return lambda item: {key: value for key, value in item.items() if key != name}


def _with(**members: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda item: {**item, **members}


def _as(value: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda _: value


COMPLETE: Final = [
    *(
        Lie(name, _only({"resultType": "complete", "content": value}), _TOOL)
        for name, value in _shapes("the content")
    ),
    *(
        Lie(name, _only({"content": [], "isError": value}), _TOOL)
        for name, value in _shapes("the failure", "true", "null")
    ),
    Lie("the failure is null", _put(isError=None), _TOOL, None),
    *(
        Lie(name, _only({"resultType": "complete", "messages": value}), _PROMPT)
        for name, value in _shapes("what a prompt says")
    ),
    *(
        Lie(name, _part("messages", _with(role=value)), _PROMPT)
        for name, value in _shapes("who speaks", "a text")
    ),
    *(
        Lie(name, _part("messages", _with(content=value)), _PROMPT)
        for name, value in _shapes("what is said", "an object")
    ),
    Lie("a message without words", _part("messages", _without("content")), _PROMPT),
    *(
        Lie(name, _only({"resultType": "complete", "contents": value}), _READ)
        for name, value in _shapes("what is read")
    ),
    *(
        Lie(name, _part("contents", _with(uri=value)), _READ)
        for name, value in _shapes("where it was read", "a text")
    ),
    *(
        Lie(name, _part("contents", _with(text=value)), _READ)
        for name, value in _shapes("the text", "a text", "null")
    ),
    *(
        Lie(name, _part("contents", _with(blob=value)), _READ)
        for name, value in _shapes("the bytes", "a text", "null")
    ),
    *(
        Lie(name, _put(completion=value), ("completion/complete",))
        for name, value in _shapes("what is suggested")
    ),
    *(
        Lie(name, _completion(values=value), ("completion/complete",))
        for name, value in _shapes("the suggestions", "a list")
    ),
    *(
        Lie(name, _completion(values=[value]), ("completion/complete",))
        for name, value in _shapes("a suggestion", "a text")
    ),
    *(
        Lie(name, _completion(total=value), ("completion/complete",))
        for name, value in _shapes("how many there are", "a number", "null")
    ),
    *(
        Lie(name, _completion(hasMore=value), ("completion/complete",))
        for name, value in _shapes("whether there are more", "true", "null")
    ),
    Lie(
        "whether there are more is null",
        _completion(hasMore=None),
        ("completion/complete",),
        None,
    ),
    *(
        Lie(name, _put(supportedVersions=value), ("server/discover",))
        for name, value in _shapes("the revisions", "a list")
    ),
    *(
        Lie(name, _put(supportedVersions=[value]), ("server/discover",))
        for name, value in _shapes("a revision", "a text")
    ),
    *(
        Lie(name, _put(capabilities=value), ("server/discover",))
        for name, value in _shapes("what it can do", "an object")
    ),
    *(
        Lie(name, _put(instructions=value), ("server/discover",))
        for name, value in _shapes("the instructions", "a text", "null")
    ),
]

# -- lists ------------------------------------------------------------------------------------

LISTED: Final = [
    *(Lie(name, _items(value), LISTS) for name, value in _shapes("the list")),
    *(Lie(name, _item(_as(value)), LISTS) for name, value in _shapes("an item")),
    Lie("an item without a name", _item(_without("name")), LISTS),
    *(
        Lie(name, _item(_with(name=value)), LISTS)
        for name, value in _shapes("the name of an item", "a text")
    ),
    *(
        Lie(name, _item(_with(title=value)), LISTS)
        for name, value in _shapes("the title of an item", "a text", "null")
    ),
    *(Lie(name, _item(_with(icons=value)), LISTS) for name, value in _shapes("the icons", "null")),
    *(
        Lie(name, _item(_with(inputSchema=value)), ("tools/list",))
        for name, value in _shapes("the schema", "an object")
    ),
    *(
        Lie(name, _item(_with(arguments=value)), ("prompts/list",))
        for name, value in _shapes("the arguments", "null")
    ),
    Lie("the arguments are null", _item(_with(arguments=None)), ("prompts/list",), None),
    *(
        Lie(name, _item(_with(uri=value)), ("resources/list",))
        for name, value in _shapes("the uri", "a text")
    ),
    *(
        Lie(name, _item(_with(size=value)), ("resources/list",))
        for name, value in _shapes("the size", "a number", "null")
    ),
    *(
        Lie(name, _item(_with(uriTemplate=value)), ("resources/templates/list",))
        for name, value in _shapes("the template", "a text")
    ),
    *(
        Lie(name, _put(nextCursor=value), LISTS)
        for name, value in _shapes("the cursor", "a text", "null")
    ),
]

FAMILIES: Final = {
    "any result": ANY,
    "interim results": [*NEVER_INTERIM, *INTERIM],
    "questions": QUESTIONS,
    "complete results": COMPLETE,
    "lists": LISTED,
}
RESULTS: Final = [lie for family in FAMILIES.values() for lie in family]
