"""Every value of every result in every wrong shape: it is read, or refused by a named error."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final, cast

import pytest

from antiphon.engine.call_errors import AnswerInvalid, QuestionRefused
from antiphon.engine.client import Client
from antiphon.engine.client_messages import Discovery, ReadResourceResult
from antiphon.engine.errors import CallError, InvalidReply
from antiphon.engine.jsonrpc import JsonObject
from tests.client.scripted import client_of
from tests.hostile.lies import ESCAPES, LONG
from tests.hostile.methods import METHODS, ready

ODD: Final[list[Any]] = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    1e308,
    10**399,
    "",
    "x",
    ESCAPES,
    LONG,
    "2026-07-28",
    [],
    [None],
    [[]],
    ["x"] * 3,
    {},
    {"x": None},
    {"type": "text"},
]
NAMED: Final = (InvalidReply, QuestionRefused, AnswerInvalid)
"""The last, where a form has changed under the person who fills it in."""

Path = tuple[str | int, ...]


def _places(value: Any, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    inner: dict[Any, Any] = {}
    if isinstance(value, dict):
        inner = cast("dict[Any, Any]", value)
    elif isinstance(value, list):
        inner = dict(enumerate(cast("list[Any]", value)))
    for key, below in inner.items():
        yield from _places(below, (*path, key))


def _inner(value: Any, path: Path) -> Any:
    for key in path[:-1]:
        value = value[key]
    return value


def _shapes(good: JsonObject) -> Iterator[JsonObject]:
    for path in _places(good):
        shape = copy.deepcopy(good)
        del _inner(shape, path)[path[-1]]
        yield shape
        for odd in ODD:
            shape = copy.deepcopy(good)
            _inner(shape, path)[path[-1]] = odd
            yield shape


def _used(result: object) -> None:
    """Everything that is worked out only when it is looked at."""
    match result:
        case Discovery():
            assert result.server is None or isinstance(result.server.name, str)
        case ReadResourceResult():
            for part in result.contents:
                assert isinstance(part.data, bytes)
        case _:
            pass
    assert isinstance(getattr(result, "text", ""), str)
    assert isinstance(repr(result), str)


async def _refusal(client: Client, name: str) -> CallError | None:
    try:
        _used(await METHODS[name].ask(client))
    except NAMED as error:
        return error
    return None


async def _told(client: Client, name: str, shape: JsonObject) -> None:
    try:
        error = await _refusal(client, name)
        assert error is None or str(error).isprintable()
        assert error is None or len(str(error)) < 5000
    except BaseException as failure:
        failure.add_note(f"for {str(shape)[:1000]}")
        raise


@pytest.mark.parametrize("name", METHODS)
async def test_a_complete_result_of_any_shape_is_read_or_refused(name: str) -> None:
    good = METHODS[name].good
    for shape in _shapes(good):
        client, _ = client_of(shape, good, **ready())
        await _told(client, name, shape)
        await METHODS[name].ask(client)


@pytest.mark.parametrize("leg", [0, 1, 2])
async def test_an_interim_result_of_any_shape_is_read_or_refused(leg: int) -> None:
    legs = METHODS["tools/call"].legs
    for shape in _shapes(legs[leg]):
        client, server = client_of(shape, *[legs[-1]] * 2, **ready(roots=[]))
        await _told(client, "tools/call", shape)
        await client.call_tool("t")
        assert len(server.requests) <= 3
