"""Strategies for what a client may answer, drawn from the question as it stands on the wire."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from hypothesis import strategies as st

from antiphon.engine.jsonrpc import JsonObject, JsonValue

Strategy: TypeAlias = st.SearchStrategy[Any]

TEXT: Final = st.characters(exclude_categories=["Cs"])
_FORMATS: Final[Mapping[str, Strategy]] = {
    "email": st.sampled_from(["a@example.org", "first.last+tag@sub.example.org"]),
    "uri": st.sampled_from(["https://example.org/a?b=c#d", "urn:isbn:9780131103627"]),
    "date": st.dates().map(datetime.date.isoformat),
    "date-time": st.datetimes(timezones=st.just(datetime.UTC)).map(datetime.datetime.isoformat),
}
_FLAT: Final[Strategy] = st.none() | st.booleans() | st.integers() | st.text(TEXT, max_size=5)
_NESTED: Final[JsonValue] = {"not": ["flat"]}


def accepted(request: Mapping[str, Any]) -> Strategy:
    """A response that answers the request."""
    match request["method"]:
        case "sampling/createMessage":
            said = st.sampled_from(["SAFE", "RISKY"]) | st.text(TEXT, max_size=20)
            return said.map(_sampled)
        case "roots/list":
            return st.fixed_dictionaries({"roots": st.lists(_ROOT, max_size=3)})
        case _ if request["params"]["mode"] == "url":
            return st.just({"action": "accept"})
        case _:
            return _accepting(contents(request["params"]["requestedSchema"]))


def _accepting(content: Strategy) -> Strategy:
    return st.fixed_dictionaries({"action": st.just("accept"), "content": content})


_ROOT: Final[Strategy] = st.fixed_dictionaries(
    {"uri": _FORMATS["uri"]}, optional={"name": st.text(TEXT, max_size=5)}
)


def _sampled(text: str) -> JsonObject:
    return {"role": "assistant", "model": "m", "content": {"type": "text", "text": text}}


def contents(schema: Mapping[str, Any]) -> Strategy:
    """The content of a form with this ``requestedSchema``; some have members nobody asked for."""
    fields = {name: _values(field) for name, field in schema["properties"].items()}
    required = {name: fields.pop(name) for name in schema.get("required", ())}
    foreign = {"comment": _FLAT} if "comment" not in schema["properties"] else {}
    return st.fixed_dictionaries(required, optional={**fields, **foreign})


def _values(field: Mapping[str, Any]) -> Strategy:
    match field:
        case {"type": "boolean"}:
            return st.booleans()
        case {"type": "integer"}:
            return st.integers(field.get("minimum"), field.get("maximum"))
        case {"type": "number"}:
            low, high = field.get("minimum"), field.get("maximum")
            return st.floats(low, high, allow_nan=False, allow_infinity=False)
        case {"type": "array", "items": items}:
            return st.lists(
                _values(items),
                min_size=field.get("minItems", 0),
                max_size=field.get("maxItems", 3),
            )
        case {"enum": options}:
            return st.sampled_from(options)
        case {"oneOf": options} | {"anyOf": options}:
            return st.sampled_from([option["const"] for option in options])
        case {"format": form}:
            return _FORMATS[form]
        case _:
            return st.text(
                TEXT, min_size=field.get("minLength", 0), max_size=field.get("maxLength")
            )


def useless(request: Mapping[str, Any]) -> Strategy:
    """A form that was accepted with content that fails its schema."""
    return _accepting(_broken(request["params"]["requestedSchema"]))


def _broken(schema: Mapping[str, Any]) -> Strategy:
    no_object: list[JsonValue] = [[], "yes", 5, True, [{}]]
    broken: list[Strategy] = [st.sampled_from(no_object)]
    for name in schema["properties"]:
        broken.append(_with(contents(schema), name, _NESTED))
    for name in schema.get("required", ()):
        broken.append(_without(contents(schema), name))
    return st.one_of(broken)


def _with(content: Strategy, name: str, value: JsonValue) -> Strategy:
    return content.map(lambda members: {**members, name: value})


def _without(content: Strategy, name: str) -> Strategy:
    return content.map(lambda members: {k: v for k, v in members.items() if k != name})


NO_ANSWERS: Final[Strategy] = st.sampled_from(
    [
        None,
        True,
        0,
        "accept",
        [],
        ["accept"],
        {},
        {"action": None},
        {"action": "perhaps"},
        {"Action": "accept"},
        {"content": {}},
        {"roots": "none"},
        {"roots": [{"uri": 5}]},
        {"role": "assistant", "content": []},
        {"role": "robot", "model": "m", "content": {"type": "text", "text": "SAFE"}},
    ]
)
"""Responses that are no answer to any kind of question, and no refusal either."""
