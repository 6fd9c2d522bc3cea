"""Who may take the next round, where each request brings a bearer token of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Final

import pytest
import trio

from antiphon import (
    Accept,
    Asked,
    BadStatus,
    Conversation,
    Principal,
    ServerError,
    http_app,
    open_client,
)
from antiphon.engine.client_messages import CallToolResult
from antiphon.engine.protocol import Implementation
from tests.cases.flows import Echo, serving
from tests.http_server.serving import serving as listening

REFUSED: Final = "Invalid or expired requestState"

BEARERS: Final = {
    "alice": Principal("app", "https://issuer.example", "alice"),
    "alice-refreshed": Principal("app", "https://issuer.example", "alice"),
    "bob": Principal("app", "https://issuer.example", "bob"),
    "alice-of-another-app": Principal("other", "https://issuer.example", "alice"),
    "alice-of-another-issuer": Principal("app", "https://elsewhere.example", "alice"),
    "nobody-in-particular": Principal("app"),
}


async def known(token: str) -> Principal | None:
    await trio.lowlevel.checkpoint()
    return BEARERS.get(token)


@asynccontextmanager
async def doors() -> AsyncGenerator[tuple[str, str]]:
    """One server behind two addresses: the one checks bearers, the other asks nobody."""
    server = serving(Echo())
    async with (
        listening(http_app(server, authenticate=known)) as checked,
        listening(http_app(server)) as open_to_all,
    ):
        yield f"http://127.0.0.1:{checked}/mcp", f"http://127.0.0.1:{open_to_all}/mcp"


async def two_rounds(doors: tuple[str, str], bearers: Sequence[str | None]) -> str:
    """The text of a call whose rounds are sent by one bearer after the other."""
    stored = b""
    for bearer in bearers:
        url = doors[0] if bearer is not None else doors[1]
        # Whatever a client says of itself, and the connection that it comes by, count for nothing.
        info = Implementation("alice", "1", "Alice")
        async with open_client(url, token=bearer, client_info=info) as client:
            if not stored:
                conversation = client.conversation("echo", meta={"subject": "alice"})
                assert isinstance(await conversation.advance(), Asked)
                stored = conversation.dump()
            else:
                # The other door is the same server.
                return await said(client.load(stored, moved=True), "hi")
    raise AssertionError("a call has two rounds")


async def said(conversation: Conversation[CallToolResult], word: str) -> str:
    """The text of the result, once the word was said."""
    result = await conversation.advance({"asking_word": Accept({"word": word})})
    assert isinstance(result, CallToolResult)
    return result.text


async def test_refreshed_token_of_the_same_person_goes_on() -> None:
    with trio.fail_after(60):
        async with doors() as both:
            assert await two_rounds(both, ["alice", "alice"]) == "hi"
            assert await two_rounds(both, ["alice", "alice-refreshed"]) == "hi"
            assert await two_rounds(both, [None, None]) == "hi"


async def test_anybody_else_is_refused_in_both_directions() -> None:
    others = [*(name for name in BEARERS if not name.startswith("alice-refreshed")), None]
    with trio.fail_after(60):
        async with doors() as both:
            for other in others[1:]:
                for bearers in (["alice", other], [other, "alice"]):
                    with pytest.raises(ServerError, match=REFUSED) as caught:
                        await two_rounds(both, bearers)
                    assert caught.value.code == -32602


async def test_token_that_is_no_longer_valid_is_told_from_a_state_that_is_not() -> None:
    with trio.fail_after(60):
        async with doors() as both:
            with pytest.raises(BadStatus, match="asks for credentials") as refused:
                await two_rounds(both, ["alice", "expired"])
    assert refused.value.status == 401


async def test_bearers_may_change_on_one_connection() -> None:
    bearers = iter(["alice", "bob", "bob", "alice-refreshed"])

    async def token() -> str:
        return next(bearers)

    with trio.fail_after(60):
        async with doors() as (url, _), open_client(url, token=token) as client:
            alices = client.conversation("echo")
            bobs = client.conversation("echo")
            await alices.advance()
            await bobs.advance()
            assert await said(bobs, "bob") == "bob"
            assert await said(alices, "alice") == "alice"
