"""A form, put to a person field by field, reviewed before it is sent.

Specification: client/elicitation, "User Interaction Model": it is clear which server asks,
declining and cancelling are possible at any time, and answers can be changed before they go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from attrs import define
from attrs import field as attribute

from ..engine.asked import Accept, Cancel, Decline, ElicitationAnswer, FormRequest, UrlRequest
from ..engine.asked_form import Choice, Field, Scalar
from ..engine.jsonrpc import JsonValue
from .cli_fields import Given, fault, from_text, prefill, shown, wanted
from .cli_text import one_line, shortened
from .cli_values import Unfit


class Dismissed(Exception):
    """The person closed the question: Esc or ctrl-C."""


class Declined(Exception):
    """The person said no: ctrl-D."""


class Paused(Exception):
    """The question is kept for later, and nothing is sent: ctrl-Z, or ``--pause``."""


class Prompts(Protocol):
    """How a person is asked. Each raises Dismissed, Declined or Paused."""

    async def text(self, message: str, default: str, check: Callable[[str], str | None]) -> str:
        """A text that ``check`` finds nothing wrong with."""
        ...

    async def choose(self, message: str, options: Sequence[str], first: int) -> int:
        """The index of one option; ``first`` is pointed at to begin with."""
        ...

    async def choose_any(
        self,
        message: str,
        options: Sequence[str],
        chosen: frozenset[int],
        check: Callable[[list[int]], str | None],
    ) -> list[int]:
        """The indexes of any options that ``check`` finds nothing wrong with."""
        ...


class Sheet(Protocol):
    """Where a person reads what is asked."""

    def heading(self, title: str, text: str) -> None:
        """Who asks, and the message."""
        ...

    def note(self, text: str) -> None:
        """Something to know about what comes next."""
        ...


_SEND: Final = "Send"
_CHANGE: Final = "Change an answer"
_DECLINE: Final = "Decline to answer"
_CANCEL: Final = "Cancel"
KEYS: Final = "ctrl-D declines, Esc or ctrl-C cancels, ctrl-Z keeps it for later"


@define
class Interview:
    """One form, from the first field to the decision to send it."""

    _request: FormRequest
    _prompts: Prompts
    _sheet: Sheet
    _content: dict[str, Given] = attribute(repr=False)

    async def hold(self) -> ElicitationAnswer:
        """Ask for every field that has no value yet, and then whether to send them.

        Raises:
            Paused: the person keeps the form for later.
        """
        self._sheet.heading(title(self._request), self._request.message)
        self._sheet.note(KEYS)
        try:
            for field in self._request.fields:
                if field.name not in self._content:
                    await self._fill(field)
            return await self._review()
        except Declined:
            return Decline()
        except Dismissed:
            return Cancel()

    # -- one field ----------------------------------------------------------------------------

    async def _fill(self, field: Field) -> None:
        for line in told_of(field):
            self._sheet.note(line)
        given = await self._ask(field)
        while given is not None and (wrong := fault(self._request.form, field, given.value)):
            self._sheet.note(wrong)
            given = await self._ask(field)
        if given is None:
            self._content.pop(field.name, None)
        else:
            self._content[field.name] = given

    async def _ask(self, field: Field) -> Given | None:
        if field.type == "array" and field.choices:
            return await self._ask_any(field)
        if field.choices or field.type == "boolean":
            return await self._ask_one(field)
        return await self._ask_text(field)

    async def _ask_text(self, field: Field) -> Given | None:
        form = self._request.form

        def wrong(text: str) -> str | None:
            try:
                from_text(form, field, text)
            except Unfit as error:
                return str(error)
            return None

        current = self._current(field)
        default = "" if current is None else prefill(field, current.value)
        return from_text(form, field, await self._prompts.text(label(field), default, wrong))

    async def _ask_one(self, field: Field) -> Given | None:
        offers = offered(field)
        current = self._current(field)
        # Without a default a yes is said on purpose, never by leaning on the Enter key.
        cautious = 1 if field.type == "boolean" and not field.choices else 0
        first = next((i for i, (_, given) in enumerate(offers) if given == current), cautious)
        options = [option for option, _ in offers]
        return offers[await self._prompts.choose(label(field), options, first)][1]

    async def _ask_any(self, field: Field) -> Given | None:
        values = [choice.value for choice in field.choices]
        current = self._current(field)
        given = current.value if current is not None and isinstance(current.value, list) else []

        def chosen(indexes: list[int]) -> Given | None:
            picked: list[JsonValue] = [values[index] for index in indexes]
            left_out = not (picked or field.required or field.default is not None)
            return None if left_out else Given(picked)

        def wrong(indexes: list[int]) -> str | None:
            value = chosen(indexes)
            return None if value is None else fault(self._request.form, field, value.value)

        options = [option for option, _ in offered(field)]
        before = frozenset(i for i, value in enumerate(values) if value in given)
        return chosen(await self._prompts.choose_any(label(field), options, before, wrong))

    def _current(self, field: Field) -> Given | None:
        """What was answered, or else the default."""
        if field.name in self._content or field.default is None:
            return self._content.get(field.name)
        return Given(_plain(field.default))

    # -- before it is sent --------------------------------------------------------------------

    async def _review(self) -> ElicitationAnswer:
        while True:
            decision = await self._decide()
            if decision == _CHANGE:
                await self._change()
            elif decision == _DECLINE:
                return Decline()
            elif decision == _CANCEL:
                return Cancel()
            elif faults := self._faults():
                self._sheet.note(f"This cannot be sent: {'; '.join(faults)}")
            else:
                return Accept(self._values())

    async def _decide(self) -> str:
        fields = self._request.fields
        # The answer to a single field stands just above; but several choices are only counted.
        seen = len(fields) == 1 and fields[0].type != "array"
        for field in () if seen else fields:
            self._sheet.note(f"{one_line(field.label)}: {self._shown(field)}")
        options = [_SEND, *([_CHANGE] if fields else []), _DECLINE, _CANCEL]
        question = f"Send this to {one_line(self._request.server)}?"
        return options[await self._prompts.choose(question, options, 0)]

    async def _change(self) -> None:
        fields = self._request.fields
        labels = [one_line(field.label) for field in fields]
        await self._fill(fields[await self._prompts.choose("Which one?", labels, 0)])

    def _faults(self) -> list[str]:
        form = self._request.form
        return [one_line(told) for told in form.faults(form.fill(self._values()))]

    def _values(self) -> dict[str, JsonValue]:
        return {name: given.value for name, given in self._content.items()}

    def _shown(self, field: Field) -> str:
        current = self._current(field)
        if current is None:
            return "(left out)"
        titles = {option for option, given in offered(field) if given == current}
        return titles.pop() if titles else shown(current.value)


# -- words ------------------------------------------------------------------------------------


def title(request: FormRequest | UrlRequest) -> str:
    """Who asks: ``Provisioner asks, for provision``."""
    return f"{one_line(request.server)} asks, for {one_line(request.target)}"


def label(field: Field) -> str:
    """The field's title, and whether it must be answered."""
    optional = "" if field.required or field.default is not None else " (optional)"
    return f"{one_line(field.label)}{optional}:"


def told_of(field: Field) -> list[str]:
    """What a person should know about the field before answering."""
    lines = [shortened(field.description)] if field.description else []
    if wanted(field) not in ("text", "yes or no", "one of the choices", "any of the choices"):
        lines.append(f"Wanted: {wanted(field)}")
    if _unseen_default(field):
        lines.append(f"Leave it empty for the default: {shown(_plain(field.default))}")
    return lines


def _unseen_default(field: Field) -> bool:
    """Whether there is a default that no input line can show."""
    if field.default in (None, "", ()) or field.choices or field.type == "boolean":
        return False
    return not prefill(field, field.default)


def _plain(default: Scalar | tuple[Scalar, ...] | None) -> JsonValue:
    return list(default) if isinstance(default, tuple) else default


def offered(field: Field) -> list[tuple[str, Given | None]]:
    """The options of a choice, each with what it stands for; None leaves the field out."""
    if field.type == "boolean" and not field.choices:
        offers: list[tuple[str, Given | None]] = [("Yes", Given(True)), ("No", Given(False))]
    else:
        offers = [(_option(choice), Given(choice.value)) for choice in field.choices]
    if field.type == "array":
        return offers
    if field.nullable:
        offers.append(("(none)", Given(None)))
    elif not field.required and field.default is None:
        offers.append(("(leave out)", None))
    return offers


def _option(choice: Choice) -> str:
    named, value = one_line(choice.title), one_line(str(choice.value))
    return named if named == value else f"{named} ({value})"
