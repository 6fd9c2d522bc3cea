"""Who answers a server's questions at the command line: first ``--answer``, then the person."""

from __future__ import annotations

import webbrowser
from contextlib import AbstractContextManager
from typing import Protocol

import trio
from attrs import define, field, frozen

from ..engine.asked import Accept, Decline, ElicitationAnswer, FormRequest, UrlRequest
from ..engine.asked_form import Field
from .cli_answers import Answers
from .cli_fields import Given, options_of
from .cli_forms import Interview, Paused, Prompts
from .cli_links import LinkSheet, ask_consent
from .cli_screen import Screen
from .cli_text import one_line, shortened
from .cli_values import Unfit


class Desk(Prompts, LinkSheet, Protocol):
    """A terminal at which a person sits."""

    def prompting(self) -> AbstractContextManager[None]:
        """Have the terminal for one question; nothing typed before counts."""
        ...


@frozen(kw_only=True)
class Manner:
    """How questions are answered.

    Attributes:
        decline: whether what ``--answer`` does not answer is declined without asking.
        pause: whether it is kept for later without asking.
        open_links: whether a page is opened once the person has agreed to it.
    """

    decline: bool = False
    pause: bool = False
    open_links: bool = False


@define
class Asker:
    """The elicitation callback of a command; it raises Paused where a question is kept.

    Attributes:
        answers: what stands on the command line.
        unanswered: whether a question was declined because nobody was there to answer it.
    """

    answers: Answers
    _screen: Screen
    _desk: Desk | None
    _manner: Manner
    unanswered: bool = field(default=False, init=False)
    _turn: trio.Lock = field(factory=trio.Lock, init=False)

    async def __call__(self, request: FormRequest | UrlRequest) -> ElicitationAnswer:
        """Answer one question; those of one round wait for each other."""
        async with self._turn:
            try:
                prepared, given = self._prepared(request)
            except Unfit as error:
                self._screen.say(str(error))
                prepared, given = None, {}
            if prepared is not None:
                return await self._answered(request, prepared)
            if self._manner.decline:
                return Decline()
            if self._manner.pause:
                raise Paused
            if self._desk is None:
                return self._nobody(request, given)
            return await self._answered(request, await self._in_person(request, given, self._desk))

    # -- from the command line ----------------------------------------------------------------

    def _prepared(
        self, request: FormRequest | UrlRequest
    ) -> tuple[ElicitationAnswer | None, dict[str, Given]]:
        """The answer, or the part of one, that stands on the command line."""
        names = [f.name for f in request.fields] if isinstance(request, FormRequest) else []
        if request.key not in names and (action := self.answers.action(request.key)) is not None:
            return action, {}
        if not isinstance(request, FormRequest):
            return None, {}
        given = self.answers.fields(request)
        whole = bool(given) and not _missing(request, given)
        return (_filled(given) if whole else None), given

    def _nobody(
        self, request: FormRequest | UrlRequest, given: dict[str, Given]
    ) -> ElicitationAnswer:
        self.unanswered = True
        wants = ", ".join(_wanting(request, given))
        self._screen.say(
            f"{one_line(request.server)} asks: {shortened(request.message)}\n"
            f"There is no terminal to ask at, so the question was declined; answer it by {wants}"
        )
        return Decline()

    # -- in person ----------------------------------------------------------------------------

    async def _in_person(
        self, request: FormRequest | UrlRequest, given: dict[str, Given], desk: Desk
    ) -> ElicitationAnswer:
        with desk.prompting():
            if isinstance(request, FormRequest):
                answer = await Interview(request, desk, desk, dict(given)).hold()
            else:
                answer = await ask_consent(request, desk, desk)
            if not isinstance(answer, Accept):
                desk.note("You declined." if isinstance(answer, Decline) else "You cancelled.")
            return answer

    async def _answered(
        self, request: FormRequest | UrlRequest, answer: ElicitationAnswer
    ) -> ElicitationAnswer:
        if isinstance(request, UrlRequest) and isinstance(answer, Accept):
            url = request.display_url
            self._screen.say(f"Open this page to go on: {url}")
            if self._manner.open_links and not await trio.to_thread.run_sync(webbrowser.open, url):
                self._screen.say("No browser could be started.")
        return answer


def _filled(given: dict[str, Given]) -> Accept:
    return Accept({name: one.value for name, one in given.items()})


def _missing(request: FormRequest, given: dict[str, Given]) -> list[Field]:
    return [f for f in request.fields if f.required and f.default is None and f.name not in given]


def _wanting(request: FormRequest | UrlRequest, given: dict[str, Given]) -> list[str]:
    """What could stand on the command line."""
    fields = _missing(request, given) if isinstance(request, FormRequest) else []
    wanted = [f"--answer {one_line(f.name)}={options_of(f) or '…'}" for f in fields]
    return wanted or [f"--answer {one_line(request.key)}=accept"]
