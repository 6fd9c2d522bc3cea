"""Which requests are the same request, for what is kept of a server's answers."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engine.client_cache import digest_of
from antiphon.engine.client_wire import Outgoing

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text("ab")
JSON: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab"), inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.dictionaries(st.text("abé", max_size=3), JSON, max_size=3)


def digest(params: Any, meta: Any = None, capabilities: Any = None) -> bytes:
    return digest_of(Outgoing("resources/read", params, capabilities or {}, meta or {}))


def turned(value: Any) -> Any:
    """The same value with the members of its objects in another order."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: turned(members[name]) for name in reversed(members)}
    return [*map(turned, cast("list[Any]", value))] if isinstance(value, list) else value


@given(OBJECTS, OBJECTS, OBJECTS)
def test_the_order_of_members_makes_no_difference(params: Any, meta: Any, declared: Any) -> None:
    assert digest(params, meta, declared) == digest(turned(params), turned(meta), turned(declared))


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1, 1.0 and true are three values."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@given(OBJECTS, OBJECTS)
def test_different_parameters_are_different_requests(one: Any, other: Any) -> None:
    assert (digest(one) == digest(other)) == same(one, other)


@given(OBJECTS)
def test_parameters_meta_and_capabilities_are_told_apart(value: Any) -> None:
    if value:
        assert len({digest(value), digest({}, value), digest({}, {}, value)}) == 3


@pytest.mark.parametrize("name", ["traceparent", "tracestate", "baggage"])
def test_what_only_traces_makes_no_difference(name: str) -> None:
    assert digest({"uri": "x:a"}, {name: "00-1-2-3"}) == digest({"uri": "x:a"})
