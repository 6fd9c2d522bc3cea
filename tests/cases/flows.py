"""Small flows for kinds of failure that show only where several rooms work together."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from attrs import define, field, frozen

from antiphon import Asking, Call, Consent, Done, Failed, Flow, Form, Link, Polling, Server
from antiphon.engine.exchange import Principal

KEY = "a key that all servers of these tests share"


@frozen
class Nothing:
    pass


@frozen
class Word:
    word: str


@frozen
class AskingWord(Asking[Word]):
    def ask(self) -> Form[Word]:
        return Form("Say a word.", Word)


@frozen
class Echo(Flow[Nothing]):
    """Say a word back."""

    async def begin(self, args: Nothing) -> AskingWord:
        return AskingWord()

    @AskingWord.answered
    async def said(self, at: AskingWord, answer: Word) -> Done[str]:
        return Done(answer.word)


# -- a page -----------------------------------------------------------------------------------


@define
class Page:
    """A page on the web that somebody signs, some time after the link was given out."""

    clock: Callable[[], float]
    signed_at: float = float("inf")
    signed_by: Principal | None = None
    looks: list[float] = field(factory=list[float])

    def signer(self) -> Principal | str | None:
        """Who has signed so far; ``somebody`` where nobody is known by name."""
        self.looks.append(self.clock())
        return self.signed_by or "somebody" if self.clock() >= self.signed_at else None


@frozen
class AskingConsent(Asking[Consent]):
    def ask(self) -> Link:
        return Link("Sign on this page.", "https://example.org/sign")


@frozen
class AwaitingSignature(Polling):
    since: float


@frozen
class Sign(Flow[Nothing]):
    """Have a page signed, within a minute."""

    page: Page

    async def begin(self, args: Nothing) -> AskingConsent:
        return AskingConsent()

    @AskingConsent.answered
    async def agreed(self, at: AskingConsent, consent: Consent) -> AwaitingSignature:
        return AwaitingSignature(self.page.clock())

    @AwaitingSignature.polled
    async def looked(
        self, at: AwaitingSignature, call: Call[Nothing]
    ) -> AwaitingSignature | Done[str] | Failed:
        signer = self.page.signer()
        if isinstance(signer, Principal) and signer != call.principal:
            return Failed("Somebody else has signed.")
        if signer is not None:
            return Done("signed")
        if self.page.clock() - at.since > 60:
            return Failed("Nobody has signed within a minute.")
        return at


def serving(*flows: Flow[Any], clock: Callable[[], float] = time.time) -> Server:
    """A server with these tools."""
    server = Server("Cases", version="1", keys=[KEY], clock=clock)
    for flow in flows:
        server.tool(flow)
    return server
