"""Suggestions for a prompt's arguments and a template's variables.

Specification: server/utilities/completion.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol, TypeAlias, cast

import trio
from attrs import Factory, field, frozen

from .call import Call
from .checks import count_faults, is_async, kind_of, present, refuse
from .errors import INTERNAL_ERROR, INVALID_PARAMS, ProtocolError, UsageError, told
from .jsonrpc import JsonObject, JsonValue, dumps
from .limits import Limits, raising
from .protocol import COMPLETE, CompleteParams

_log = logging.getLogger("antiphon.server")

MOST: Final = 100
"""Values of one reply, by the specification."""


@frozen
class Completion:
    """Suggestions, best first.

    Attributes:
        values: the first hundred are sent.
        total: how many there are, where that is more than ``values`` and known.
        has_more: whether there are more than ``values``.

    Raises:
        DefinitionError: ``total`` is no whole number, or less than there are values.
    """

    values: Sequence[str] = field(factory=tuple[str, ...])
    total: int | None = None
    has_more: bool = False

    def __attrs_post_init__(self) -> None:
        faults = count_faults(**present(total=self.total))
        if not faults and self.total is not None and self.total < len(self.values):
            faults = [f"total {self.total} is less than the {len(self.values)} values"]
        if not isinstance(cast(object, self.has_more), bool):
            faults.append(f"has_more must be True or False, not {kind_of(self.has_more)}")
        refuse("Completion", faults)


_Suggested: TypeAlias = Awaitable["Sequence[str] | Completion"]
Completer: TypeAlias = (
    Callable[[str, Mapping[str, str]], _Suggested]
    | Callable[[str, Mapping[str, str], Call[Any]], _Suggested]
)
"""Takes what was typed so far and the arguments that are filled in already, and where it has a
third parameter the call: whose principal may see what is a matter of the completer.

A third parameter that has a default keeps it, unless its name is ``call``."""


@frozen
class Complete:
    """Marks a parameter of a prompt or a template: ``Annotated[str, Complete(suggest)]``.

    ``suggest`` is ``async def (value: str, others: Mapping[str, str][, call: Call])`` and returns
    texts, or a :class:`Completion`. A ``Literal`` or an enum suggests its own options without it.

    Raises:
        UsageError: ``suggest`` is no async function, or cannot be called with these.
    """

    suggest: Completer
    _takes_call: bool = field(
        init=False, default=Factory(lambda self: _takes_call(self.suggest), takes_self=True)
    )

    async def __call__(
        self, value: str, others: Mapping[str, str], call: Call[Any]
    ) -> Sequence[str] | Completion:
        """What it suggests."""
        suggest = cast("Callable[..., _Suggested]", self.suggest)
        return await (suggest(value, others, call) if self._takes_call else suggest(value, others))


def _takes_call(suggest: object) -> bool:
    """Whether it is given the call; raises UsageError for what cannot be called at all."""
    if not is_async(suggest):
        raise UsageError("Complete(...) takes an `async def (value, others)` function")
    signature = inspect.signature(cast("Callable[..., object]", suggest))
    takes_call = any(map(_is_call, [*signature.parameters.values()][2:3]))
    try:
        signature.bind(*range(3 if takes_call else 2))
    except TypeError as error:
        raise UsageError(
            "Complete(...) calls its function with value and others, and with the call where "
            f"there is a third parameter; this one cannot be called so: {error}"
        ) from None
    return takes_call


def _is_call(third: inspect.Parameter) -> bool:
    by_place = third.kind in (third.POSITIONAL_ONLY, third.POSITIONAL_OR_KEYWORD)
    return by_place and (third.default is third.empty or third.name == "call")


def options(values: Sequence[str]) -> Complete:
    """Suggests those of ``values`` that begin with what was typed, whatever the case."""
    folded = [(value.casefold(), value) for value in values]

    async def suggest(typed: str, _: Mapping[str, str]) -> Sequence[str]:
        start = typed.casefold()
        return [value for fold, value in folded if fold.startswith(start)]

    return Complete(suggest)


class Completed(Protocol):
    """A prompt or a template, whose arguments can be suggested."""

    @property
    def completers(self) -> Mapping[str, Complete]:
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
    def read(cls, params: CompleteParams, limits: Limits) -> Wanted:
        """Take the parameters apart.

        Raises:
            ProtocolError: -32602, a member is missing, of the wrong type or too long.
        """
        text = partial(_text, limits, "completion_bytes")
        kind = text(params.ref, "type", "ref")
        if kind == "ref/prompt":
            key = text(params.ref, "name", "ref")
        elif kind == "ref/resource":
            key = _text(limits, "uri_bytes", params.ref, "uri", "ref")
        else:
            raise _invalid('ref.type must be "ref/prompt" or "ref/resource"')
        value = text(params.argument, "value", "argument")
        others = (params.context or {}).get("arguments", {})
        if not isinstance(others, dict):
            raise _invalid("context.arguments must be an object of texts")
        read = {name: text(others, name, "context.arguments") for name in others}
        return cls(kind, key, text(params.argument, "name", "argument"), value, read)

    async def serve(self, entry: Completed, call: Call[Any], seconds: float) -> JsonObject:
        """The members of a ``CompleteResult``; what nothing suggests has no values.

        Args:
            entry: whose argument it is.
            call: who asks.
            seconds: how long the completer may take.

        Raises:
            ProtocolError: -32603, the completer failed or took too long, which is logged, or
                raised a ToolError, whose text it has; -32021, it called ``call.require``.
        """
        complete = entry.completers.get(self.argument)
        if complete is None:
            return NOTHING
        with trio.move_on_after(seconds):
            return await self._suggested(complete, call)
        _log.warning(
            "The completer of %s passed limit handler_seconds %s",
            self._what,
            raising("handler_seconds"),
        )
        raise ProtocolError(
            INTERNAL_ERROR,
            f"Suggestions took longer than {seconds:g} seconds, which is limit handler_seconds "
            "of this server.",
        )

    async def _suggested(self, complete: Complete, call: Call[Any]) -> JsonObject:
        try:
            given = await complete(self.value, self.others, call)
            return _result(given if isinstance(given, Completion) else Completion(given))
        except Exception as error:  # noqa: BLE001  # a completer may raise anything
            raise self._failed(error) from None

    def _failed(self, error: Exception) -> ProtocolError:
        if (text := told(error)) is None:
            _log.error("The completer of %s failed", self._what, exc_info=error)
            text = "There are no suggestions because of an error in the server. It has been logged."
        # What no JSON can say is replaced: the rest of the message must reach the client.
        return ProtocolError(INTERNAL_ERROR, text.encode("utf-8", "replace").decode())

    @property
    def _what(self) -> str:
        return f"argument {self.argument[:100]!r} of {self.key[:100]!r}"


def _result(completion: Completion) -> JsonObject:
    given: list[object] = list(completion.values)
    # A type checker takes one text for a sequence of texts.
    one = isinstance(cast(object, completion.values), str)
    if one or not all(isinstance(value, str) for value in given):
        raise UsageError("A completer gives a list of texts, or a Completion of these")
    members = _wire(cast("list[str]", given), completion)
    dumps(members)  # what no JSON can say is told here, where the completer is known
    return {"resultType": COMPLETE, "completion": members}


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


NOTHING: Final = _result(Completion())
"""The members of a ``CompleteResult`` without suggestions."""


def _text(
    limits: Limits, limit: str, members: Mapping[str, JsonValue], name: str, place: str
) -> str:
    value, most = members.get(name), getattr(limits, limit)
    if not isinstance(value, str):
        raise _invalid(f"{place}.{name[:128]} must be a string")
    if len(value) > most:
        raise _invalid(
            f"{place}.{name[:128]} has {len(value)} characters; limit {limit} is {most} "
            + raising(limit)
        )
    return value


def _invalid(what: str) -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, f"Invalid params: {what}")
