"""Agreeing to open a page is consent and no more: what comes after it is waited for."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from attrs import define, field

from antiphon import DeadlineExceeded, MemoryTransport, Principal, ServerError, open_client
from antiphon.engine.asked import Accept, UrlRequest
from tests.cases.flows import Page, Sign, serving

ALICE = Principal("app", "https://issuer.example", "alice")
BOB = Principal("app", "https://issuer.example", "bob")


@define
class Agreeing:
    """A person who agrees to open pages."""

    asked: list[UrlRequest] = field(factory=list[UrlRequest])

    async def __call__(self, question: Any) -> Accept:
        assert isinstance(question, UrlRequest)
        self.asked.append(question)
        return Accept()


@pytest.fixture
def page() -> Page:
    """For tests whose clock is the virtual one."""
    return Page(trio.current_time)


def transport(page: Page, principal: Principal | None = None) -> MemoryTransport:
    return MemoryTransport(serving(Sign(page), clock=page.clock), principal)


async def test_page_is_asked_for_once_and_looked_at_ever_less_often(
    page: Page, autojump_clock: object
) -> None:
    person = Agreeing()
    page.signed_at = page.clock() + 3
    began = page.clock()
    async with open_client(transport(page), elicitation=person, clock=page.clock) as client:
        result = await client.call_tool("sign")
    assert result.text == "signed"
    assert len(person.asked) == 1
    assert 3 <= page.clock() - began < 3.5
    waits = [later - sooner for sooner, later in zip(page.looks, page.looks[1:], strict=False)]
    assert waits[0] < waits[1] < waits[-1]
    assert all(0.05 <= wait <= 0.31 for wait in waits)


async def test_page_that_nobody_signs_ends_in_words_for_the_model(
    page: Page, autojump_clock: object
) -> None:
    person = Agreeing()
    async with open_client(transport(page), elicitation=person, clock=page.clock) as client:
        result = await client.call_tool("sign")
    assert result.is_error
    assert result.text == "Nobody has signed within a minute."
    assert len(person.asked) == 1


async def test_client_need_not_wait_as_long_as_the_flow_does(
    page: Page, autojump_clock: object
) -> None:
    began = page.clock()
    async with open_client(transport(page), elicitation=Agreeing(), clock=page.clock) as client:
        with pytest.raises(DeadlineExceeded):
            await client.call_tool("sign", deadline=10)
    assert page.clock() - began == pytest.approx(10)


async def test_page_that_somebody_else_signs_completes_nothing(
    page: Page, autojump_clock: object
) -> None:
    page.signed_at, page.signed_by = page.clock() + 1, BOB
    async with open_client(
        transport(page, ALICE), elicitation=Agreeing(), clock=page.clock
    ) as client:
        result = await client.call_tool("sign")
    assert result.text == "Somebody else has signed."


async def test_somebody_else_cannot_take_over_the_waiting(
    page: Page, autojump_clock: object
) -> None:
    page.signed_at, page.signed_by = page.clock(), BOB
    async with open_client(
        transport(page, ALICE), elicitation=Agreeing(), clock=page.clock
    ) as client:
        conversation = client.conversation("sign")
        await conversation.advance()
        await conversation.advance({"asking_consent": Accept()})
        stored = conversation.dump()
    async with open_client(
        transport(page, BOB), elicitation=Agreeing(), clock=page.clock
    ) as client:
        with pytest.raises(ServerError, match="Invalid or expired requestState"):
            await client.load(stored).run()
    assert page.looks == []
