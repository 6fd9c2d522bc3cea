"""What a server is made with: each wrong argument is refused at once, and in plain words."""

from __future__ import annotations

import functools
import math
from typing import Any

import pytest

from antiphon import DefinitionError, Icon, Limits, LowLevelServer, Server, UsageError
from antiphon.engine.incoming import Incoming
from antiphon.engine.jsonrpc import JsonObject
from tests.engine.offering import get, get_error, message_text, offering, read_error
from tests.engine.peer import Peer

ICON = Icon("https://example.com/a.png")


async def layer(request: Any, exchange: Any, proceed: Any) -> Any:
    return await proceed(request, exchange)


@pytest.mark.parametrize("kind", [Server, LowLevelServer])
@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"name": 5}, "name must be text, not int"),
        ({"version": 1}, "version must be text, not int"),
        ({"title": 5}, "title must be text, not int"),
        ({"description": b"7"}, "description must be text, not bytes"),
        ({"website_url": 5}, "website_url must be text, not int"),
        ({"instructions": ["be kind"]}, "instructions must be text, not list"),
        ({"icons": ICON}, "icons must be a list of icons"),
        ({"icons": ["https://example.com/a.png"]}, "icons must be a list of icons"),
        ({"middleware": layer}, "middleware must be a list of async functions"),
        ({"middleware": [5]}, "middleware must be a list of async functions"),
        ({"lifespan": 5}, "lifespan must be an async context manager function, not int"),
        ({"limits": {}}, r"limits must be Limits\(...\), not dict"),
        ({"limits": {"page": 3}}, r"limits must be Limits\(...\), not dict"),
        ({"list_ttl_ms": 1.5}, "list_ttl_ms must be a whole number, not 1.5"),
        ({"list_ttl_ms": True}, "list_ttl_ms must be a whole number, not bool"),
        ({"list_ttl_ms": "5"}, "list_ttl_ms must be a whole number, not str"),
        ({"list_ttl_ms": -1}, "list_ttl_ms must not be negative"),
        ({"list_ttl_ms": 10**400}, "list_ttl_ms must not be more than 9007199254740991"),
        ({"list_scope": "shared"}, "list_scope 'shared' is neither 'public' nor 'private'"),
    ],
)
def test_an_argument_of_the_wrong_kind_is_refused(
    kind: Any, given: dict[str, Any], fault: str
) -> None:
    with pytest.raises(DefinitionError, match="Server has a fault:\n  - " + fault):
        kind(**{"name": "x", **given})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"extensions": ["com.example/x"]}, "extensions must be a dict of settings"),
        ({"extensions": []}, "extensions must be a dict of settings"),
        ({"extensions": {5: {}}}, "Extension 5 needs an identifier with a prefix"),
        ({"title": "half \ud800"}, "lone surrogate"),
        ({"instructions": "half \ud800"}, "lone surrogate"),
    ],
)
def test_what_no_client_could_be_told_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        LowLevelServer("x", **given)


def test_capabilities_are_told_by_name() -> None:
    wrong: Any = ["tools"]
    with pytest.raises(DefinitionError, match="capabilities must be a dict, not list"):
        LowLevelServer("x", capabilities=wrong)


def test_an_audience_is_text() -> None:
    wrong: Any = 5
    with pytest.raises(DefinitionError, match="audience must be text, not int"):
        Server("x", audience=wrong)


def test_all_that_is_wrong_is_told_at_once() -> None:
    wrong: dict[str, Any] = {"title": 5, "icons": ICON, "list_ttl_ms": 0.5}
    with pytest.raises(DefinitionError) as caught:
        Server("x", **wrong)
    assert len(caught.value.faults) == 3


# -- limits -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"page": 1.5}, "page must be a whole number, not 1.5"),
        ({"page": "3"}, "page must be a whole number, not '3'"),
        ({"page": True}, "page must be a whole number, not True"),
        ({"page": math.nan}, "page must be a whole number, not nan"),
        ({"page": 0}, "page must be at least 1, not 0"),
        ({"handler_seconds": math.nan}, "handler_seconds must be at least 1, not nan"),
        ({"handler_seconds": "5"}, "handler_seconds must be a number, not '5'"),
        ({"handler_seconds": 0.5}, "handler_seconds must be at least 1, not 0.5"),
    ],
)
def test_a_limit_that_limits_nothing_is_refused(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(DefinitionError, match="Limits has a fault:\n  - " + fault):
        Limits(**given)


def test_seconds_may_be_fractions_and_have_no_end() -> None:
    assert Limits(handler_seconds=1.5).handler_seconds == 1.5
    assert Limits(handler_seconds=math.inf).handler_seconds == math.inf


async def test_the_limit_of_digits_holds_for_texts_too() -> None:
    server = offering(limits=Limits(digits=500))

    @server.prompt
    async def counted(n: int) -> str:
        return "ok"

    assert message_text(await get(Peer(server), "counted", {"n": "1" * 500})) == "ok"
    error = await get_error(Peer(server), "counted", {"n": "1" * 501})
    assert "limit digits 500" in error.message


async def test_the_limit_of_digits_holds_for_variables_too() -> None:
    server = offering(limits=Limits(digits=5))

    @server.resource_template("x://{n}")
    async def counted(n: int) -> str:
        return "ok"

    assert "limit digits 5 " in (await read_error(Peer(server), "x://123456")).message


# -- methods ----------------------------------------------------------------------------------


async def answer(request: Incoming) -> JsonObject:
    return {"resultType": "complete"}


def sync(request: Incoming) -> JsonObject:
    return {}


class Answering:
    async def __call__(self, request: Incoming) -> JsonObject:
        return {"resultType": "complete"}


@pytest.mark.parametrize("name", ["", None, 5, answer])
def test_a_method_needs_its_name(name: Any) -> None:
    with pytest.raises(UsageError, match=r"write @server.method\('tools/call'\)"):
        LowLevelServer("x").method(name)


@pytest.mark.parametrize("handler", [sync, 5, None, Answering])
def test_a_method_needs_an_async_function(handler: Any) -> None:
    server = LowLevelServer("x")
    with pytest.raises(UsageError, match="The handler of a/b must be an `async def` function"):
        server.method("a/b")(handler)


@pytest.mark.parametrize("handler", [answer, functools.partial(answer), Answering()])
async def test_a_method_is_served_by_whatever_is_async(handler: Any) -> None:
    server = offering()
    server.method("com.example/do")(handler)
    assert (await Peer(server).ask("com.example/do"))["resultType"] == "complete"
