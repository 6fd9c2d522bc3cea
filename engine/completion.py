"""Suggestions for a prompt's arguments and a template's variables.

Specification: server/utilities/completion.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol, TypeAlias

from attrs import field, frozen

from .errors import INVALID_PARAMS, ProtocolError, UsageError
from .jsonrpc import JsonObject, JsonValue
from .protocol import COMPLETE, CompleteParams

MOST: Final = 100
"""Values of one reply, by the specification."""

LONGEST: Final = 4096
"""Characters of what was typed so far, and of each argument beside it."""


@frozen
class Completion:
    """Suggestions, best first.

    Attributes:
        values: the first hundred are sent.
        total: how many there are, where that is more than ``values`` and known.
        has_more: whether there are more than ``values``.
    """

    values: Sequence[str] = field(factory=tuple[str, ...])
    total: int | None = None
    has_more: bool = False


Completer: TypeAlias = Callable[[str, Mapping[str, str]], Awaitable["Sequence[str] | Completion"]]
"""Takes what was typed so far and the arguments that are filled in already."""


@frozen
class Complete:
    """Marks a parameter of a prompt or a template: ``Annotated[str, Complete(suggest)]``.

    ``suggest`` is ``async def (value: str, others: Mapping[str, str])`` and returns texts, or a
    :class:`Completion`. A ``Literal`` or an enum suggests its own options without it.
    """

    suggest: Completer


def options(values: Sequence[str]) -> Completer:
    """Suggests those of ``values`` that begin with what was typed, whatever the case."""
    folded = [(value.casefold(), value) for value in values]

    async def suggest(typed: str, _: Mapping[str, str]) -> Sequence[str]:
        start = typed.casefold()
        return [value for fold, value in folded if fold.startswith(start)]

    return suggest


class Completed(Protocol):
    """A prompt or a template, whose arguments can be suggested."""

    @property
    def completers(self) -> Mapping[str, Completer]:
        """What suggests values, by argument."""
        ...


@frozen
class Wanted:
    """What a client asks suggestions for.

    Attributes:
        kind: which kind of thing.
        key: the prompt's name, or the template as it was listed.
        argument: the name of the argument.
        value: what was typed so far.
        others: the arguments that are filled in already.
    """

    kind: str
    key: str
    argument: str
    value: str = field(repr=False)
    others: Mapping[str, str] = field(repr=False)

    @classmethod
    def read(cls, params: CompleteParams) -> Wanted:
        """Take the parameters apart.

        Raises:
            ProtocolError: -32602, a member is missing or of the wrong type.
        """
        kind = params.ref.get("type")
        if kind == "ref/prompt":
            key = _text(params.ref, "name", "ref")
        elif kind == "ref/resource":
            key = _text(params.ref, "uri", "ref")
        else:
            raise _invalid('ref.type must be "ref/prompt" or "ref/resource"')
        value = _text(params.argument, "value", "argument")
        others = (params.context or {}).get("arguments", {})
        if not isinstance(others, dict):
            raise _invalid("context.arguments must be an object of texts")
        read = {name: _text(others, name, "context.arguments") for name in others}
        return cls(kind, key, _text(params.argument, "name", "argument"), value, read)

    async def serve(self, entry: Completed) -> JsonObject:
        """The members of a ``CompleteResult``; what nothing suggests has no values.

        Raises:
            UsageError: a completer gives something other than texts.
        """
        completer = entry.completers.get(self.argument)
        given = await completer(self.value, self.others) if completer is not None else ()
        completion = given if isinstance(given, Completion) else Completion(given)
        values = list(completion.values)
        if not all(isinstance(value, str) for value in values):
            raise UsageError(f"A completer of {self.key!r} must give texts")
        return {"resultType": COMPLETE, "completion": _wire(values, completion)}


def _wire(values: list[str], completion: Completion) -> JsonObject:
    total = completion.total
    if total is None and len(values) > MOST:
        total = len(values)
    members: JsonObject = {
        "values": [*values[:MOST]],
        "hasMore": completion.has_more or len(values) > MOST or (total or 0) > len(values),
    }
    if total is not None:
        members["total"] = total
    return members


def _text(members: Mapping[str, JsonValue], name: str, place: str) -> str:
    value = members.get(name)
    if not isinstance(value, str):
        raise _invalid(f"{place}.{name[:128]} must be a string")
    if len(value) > LONGEST:
        raise _invalid(f"{place}.{name[:128]} is longer than {LONGEST} characters")
    return value


def _invalid(what: str) -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, f"Invalid params: {what}")
