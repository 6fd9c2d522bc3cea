"""What clients share of what they keep, and what is private to one and its credentials."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from antiphon.engine.changes import ListChanged
from antiphon.engine.client import Client
from antiphon.engine.errors import UsageError
from antiphon.engine.exchange import OnNotification
from antiphon.engine.jsonrpc import JsonObject, Reply, Request
from antiphon.engine.result_cache import ResultCache
from tests.client.scripted import (
    Answer,
    ScriptedTransport,
    accept_prod,
    client_of,
    tell,
)
from tests.client.test_client_cache import contents, page, text, tools


class Web(ScriptedTransport):
    """A transport to an address, with credentials that may change."""

    def __init__(self, *answers: Answer, full_target: str = "https://a.example/mcp") -> None:
        super().__init__(answers)
        self.full_target = full_target
        self.token = "alice"
        self.patience = 0.0

    async def authorization(self) -> str:
        await trio.sleep(self.patience)
        return self.token


def two_clients(scope: str, **second: Any) -> tuple[Client, Client, ResultCache]:
    cache = ResultCache()
    first = Client(Web(page("a", scope=scope)), cache=cache)
    return first, Client(Web(page("b", scope=scope), **second), cache=cache), cache


async def test_clients_share_what_is_public() -> None:
    first, second, _ = two_clients("public")
    assert [await tools(first), await tools(second)] == [["a"], ["a"]]


async def test_clients_do_not_share_what_is_private() -> None:
    first, second, _ = two_clients("private")
    assert [await tools(first), await tools(second), await tools(first)] == [["a"], ["b"], ["a"]]


@pytest.mark.parametrize("scope", ["shared", "PUBLIC", None, 3, ["public"]])
async def test_what_is_not_called_public_is_private(scope: Any) -> None:
    first, second, _ = two_clients(scope)
    assert [await tools(first), await tools(second), await tools(first)] == [["a"], ["b"], ["a"]]


async def test_clients_of_two_servers_share_nothing() -> None:
    first, second, _ = two_clients("public", full_target="https://b.example/mcp")
    assert [await tools(first), await tools(second)] == [["a"], ["b"]]


async def test_clients_that_declare_different_things_share_nothing() -> None:
    cache = ResultCache()
    first = Client(Web(page("a", scope="public")), cache=cache)
    second = Client(Web(page("b", scope="public")), cache=cache, elicitation=accept_prod)
    assert [await tools(first), await tools(second)] == [["a"], ["b"]]


async def test_transports_without_an_address_share_nothing() -> None:
    cache = ResultCache()
    first, _ = client_of(page("a", scope="public"), cache=cache)
    second, _ = client_of(page("b", scope="public"), cache=cache)
    assert [await tools(first), await tools(second)] == [["a"], ["b"]]


async def test_other_credentials_see_nothing_private_of_the_first() -> None:
    wire = Web(page("for alice"), page("for bob"))
    client = Client(wire)
    assert await tools(client) == ["for alice"]
    wire.token = "bob"
    assert await tools(client) == ["for bob"]
    wire.token = "alice"
    assert await tools(client) == ["for alice"]


async def test_an_answer_to_other_credentials_than_it_was_looked_up_for_is_not_kept() -> None:
    async def switched(_: Request) -> JsonObject:
        wire.token = "bob"
        return page("for bob")

    wire = Web(switched, page("for alice"))
    client = Client(wire)
    assert await tools(client) == ["for bob"]
    wire.token = "alice"
    assert await tools(client) == ["for alice"]


async def test_credentials_that_take_their_time_make_no_answer_fresh_for_longer(
    autojump_clock: trio.testing.MockClock,
) -> None:
    wire = Web(page("a", ttl=10_000), page("b"))
    wire.patience = 4.0
    client = Client(wire)
    assert await tools(client) == ["a"]
    # To say who asks takes 4 s each time: at the reply, and before what is kept is looked for.
    await trio.sleep(1)
    assert await tools(client) == ["a"]
    assert await tools(client) == ["b"]


async def test_what_becomes_private_is_no_longer_served_as_public() -> None:
    cache = ResultCache()
    first = Client(Web(page("a", scope="public"), page("mine", scope="private")), cache=cache)
    await tools(first)
    await tools(first, fresh=True)
    second = Client(Web(page("b")), cache=cache)
    assert [await tools(first), await tools(second)] == [["mine"], ["b"]]


async def test_a_change_that_one_client_hears_empties_it_for_all() -> None:
    first, second, cache = two_clients("public")
    await tools(first)
    tell(second, ListChanged("tools"))
    assert len(cache) == 0


async def test_a_closed_client_leaves_nothing_private() -> None:
    cache = ResultCache()
    client = Client(Web(page("a"), contents("b", scope="public")), cache=cache)
    await tools(client)
    await text(client)
    client.close()
    assert len(cache) == 1
    with pytest.raises(UsageError, match="closed"):
        await tools(client)


async def test_what_a_closed_client_still_waits_for_is_not_kept() -> None:
    closed = trio.Event()

    async def slow(_: Request) -> JsonObject:
        await closed.wait()
        return page("a")

    cache = ResultCache()
    client = Client(Web(slow), cache=cache)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(tools, client)
        await trio.testing.wait_all_tasks_blocked()
        client.close()
        closed.set()
    assert len(cache) == 0


async def test_credentials_that_do_not_come_leave_the_time_limit_to_the_request(
    autojump_clock: trio.testing.MockClock,
) -> None:
    wire = Web(page("a"), page("b"))
    client = Client(wire, leg_timeout=5)
    await tools(client)
    wire.patience = 1000.0
    assert await tools(client) == ["b"]


class Failing(Web):
    async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
        raise AssertionError("asked again")


async def test_a_second_client_need_not_reach_the_server() -> None:
    cache = ResultCache()
    await tools(Client(Web(page("a", scope="public")), cache=cache))
    assert await tools(Client(Failing(), cache=cache)) == ["a"]
