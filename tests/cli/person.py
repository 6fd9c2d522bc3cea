"""A person at a desk, by script: what is answered to each prompt, and what was read."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import trio
from attrs import define, field

from antiphon.engine.asked import FormRequest, Origin, UrlRequest
from antiphon.engine.asked_form import read_form

ORIGIN = Origin("Shop", "python shop.py", "tools/call", "order")


def form(
    properties: dict[str, Any], *, required: Sequence[str] = (), message: str = "Please."
) -> FormRequest:
    """A form as a server would send it."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": list(required),
    }
    return FormRequest(
        key="answer", origin=ORIGIN, message=message, schema=schema, form=read_form(schema)
    )


def link(url: str) -> UrlRequest:
    """A link as a server would send it."""
    return UrlRequest(key="page", origin=ORIGIN, message="Sign in.", url=url)


@define
class Person:
    """Answers prompts in turn; an exception in the place of an answer is raised.

    Attributes:
        answers: for a text prompt the texts to type until one is accepted; for a choice the
            option's words; for several a list of them.
        read: everything that was shown, a line each.
        prompts: the prompts that were put, each with its default.
    """

    answers: list[Any]
    read: list[str] = field(factory=list[str])
    prompts: list[tuple[str, object]] = field(factory=list[tuple[str, object]])
    at_desk: int = 0

    async def text(self, message: str, default: str, check: Callable[[str], str | None]) -> str:
        text: str = await self._next(message, default)
        while (wrong := check(text)) is not None:
            self.read.append(wrong)
            text = await self._next(message, default)
        return text

    async def choose(self, message: str, options: Sequence[str], first: int) -> int:
        return options.index(await self._next(message, options[first]))

    async def choose_any(
        self,
        message: str,
        options: Sequence[str],
        chosen: frozenset[int],
        check: Callable[[list[int]], str | None],
    ) -> list[int]:
        default = [options[i] for i in sorted(chosen)]
        picked = [options.index(option) for option in await self._next(message, default)]
        while (wrong := check(picked)) is not None:
            self.read.append(wrong)
            picked = [options.index(option) for option in await self._next(message, default)]
        return picked

    def heading(self, title: str, text: str) -> None:
        self.read += [title, text]

    def note(self, text: str) -> None:
        self.read.append(text)

    def address(self, before: str, host: str, after: str) -> None:
        self.read.append(f"{before}**{host}**{after}")

    def warn(self, text: str) -> None:
        self.read.append(f"Careful: {text}")

    @contextmanager
    def prompting(self) -> Generator[None, None, None]:
        self.at_desk += 1
        assert self.at_desk == 1, "two questions at once"
        yield
        self.at_desk -= 1

    async def _next(self, message: str, default: object) -> Any:
        await trio.lowlevel.checkpoint()
        self.prompts.append((message, default))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer
