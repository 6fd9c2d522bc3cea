"""Questions as values: what goes to the client, and what its answer means.

A question is pure: made from a state's own data, it renders to the same wire form each time,
which is how a token pins it. Sampling and roots stand in a file of their own,
:mod:`.deprecated_questions`. Specification: client/elicitation; basic/patterns/mrtr.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar, cast, overload
from urllib.parse import urlsplit

import attrs
from attrs import field, frozen

from .checks import is_number
from .errors import UsageError
from .forms import form_schema, with_choices
from .jsonrpc import JsonObject
from .schema import build, validator_of

A_co = TypeVar("A_co", covariant=True)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")

FORM_NEEDS: Final[JsonObject] = {"elicitation": {"form": {}}}
URL_NEEDS: Final[JsonObject] = {"elicitation": {"url": {}}}


@frozen
class Given(Generic[A_co]):
    """The client answered, and the answer has the right type."""

    value: A_co = field(repr=False)


@frozen
class Refusal:
    """The person said no, or said nothing."""

    how: Literal["declined", "cancelled"]


@frozen
class Invalid:
    """The client accepted, with content that fails the schema it was given.

    Attributes:
        reason: what is wrong, without what the person typed: a model and a log may read it.
        note: the same for the person, who may be told in the words of the author's own checks.
    """

    reason: str
    note: str = field(default="", repr=False)


Reading: TypeAlias = "Given[A_co] | Refusal | Invalid | None"
"""What a response says; None where it is no answer to this kind of question at all."""


class Question(ABC, Generic[A_co]):
    """Something to ask a client, answered by an ``A``."""

    @property
    @abstractmethod
    def needs(self) -> JsonObject:
        """The client capabilities without which it must not be asked."""


class Single(Question[A_co]):
    """One entry of ``inputRequests``."""

    key: str | None
    """The name under which the answer comes back; None lets the state's tag decide."""

    timeout: float | None
    """Seconds for the answer where it is asked on an open call, as of older clients; None for
    ``Limits.question_seconds``. A token that waits for its answer has the server's ``ttl``."""

    @abstractmethod
    def wire(self, note: str = "") -> JsonObject:
        """The request object for ``inputRequests``; ``note`` says why it is asked again."""

    @abstractmethod
    def read(self, response: JsonObject) -> Reading[A_co]:
        """Say what a client's response means."""


def _noted(message: str, note: str) -> str:
    return f"{message}\n\n{note}" if note else message


def _elicitation(params: JsonObject) -> JsonObject:
    return {"method": "elicitation/create", "params": params}


def refusal(response: JsonObject) -> Refusal | None:
    """What a response says that brings no answer; None where it does not say so."""
    match response.get("action"):
        case "decline":
            return Refusal("declined")
        case "cancel":
            return Refusal("cancelled")
        case _:
            return None


def _fits(_: object, __: object, answer: type) -> None:
    form_schema(answer)


def check_timeout(_: object, __: object, timeout: float | None) -> None:
    """Refuse a time limit that is none; for the validators of questions."""
    if timeout is not None and not (is_number(timeout) and timeout > 0):
        raise UsageError(f"timeout takes seconds, more than none, not {timeout!r}")


@frozen
class Form(Single[A_co]):
    """A form in the client: ``message`` and one input for each field of ``answer``.

    Args:
        message: what the person reads.
        answer: a flat attrs class; see :mod:`antiphon.engine.forms` for what fits.
        choices: options known only at run time, by field: texts, or from value to title.
        key: the name of the answer on the wire.
        timeout: see :attr:`Single.timeout`.

    Raises:
        DefinitionError: ``answer`` does not fit into a form.
        UsageError: ``timeout`` is no positive number.
    """

    message: str
    answer: type[A_co] = field(validator=_fits)
    choices: Mapping[str, Mapping[str, str] | Sequence[str]] | None = field(
        default=None, kw_only=True
    )
    key: str | None = field(default=None, kw_only=True)
    timeout: float | None = field(default=None, kw_only=True, validator=check_timeout)

    @property
    def schema(self) -> JsonObject:
        """The ``requestedSchema``; the answer is validated against this very object."""
        schema = form_schema(cast(type, self.answer))
        if not self.choices:
            return schema
        options = {
            name: dict(offer) if isinstance(offer, Mapping) else list(offer)
            for name, offer in self.choices.items()
        }
        return with_choices(schema, options)

    @property
    def needs(self) -> JsonObject:
        return FORM_NEEDS

    def wire(self, note: str = "") -> JsonObject:
        return _elicitation(
            {
                "mode": "form",
                "message": _noted(self.message, note),
                "requestedSchema": self.schema,
            }
        )

    def read(self, response: JsonObject) -> Reading[A_co]:
        if response.get("action") != "accept":
            return refusal(response)
        content = response.get("content")
        # Some hosts accept without content where they could show no field.
        content = {} if content is None else content
        if not isinstance(content, dict):
            return Invalid("the content is not an object")
        if faults := validator_of(self.schema).faults(content):
            return Invalid("; ".join(faults))
        known = {a.name for a in attrs.fields(cast("type[attrs.AttrsInstance]", self.answer))}
        try:
            own = {name: value for name, value in content.items() if name in known}
            return Given(build(own, self.answer))
        except ValueError as error:
            return Invalid("a check of the server refuses it", note=str(error))


@frozen
class Consent:
    """The person agreed to open a link; it says nothing about what happened there."""


def _absolute(_: object, __: object, url: str) -> None:
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        fits = False
    # What a browser reads differently than others do leads somewhere else than it seems to.
    if not fits or not url.isprintable() or set(url) & set(" \\"):
        raise UsageError("Link(message, url) needs an absolute http or https URL")


@frozen
class Link(Single[Consent]):
    """A link that the person is asked to open (URL mode), for what must not pass the client.

    Raises:
        UsageError: ``url`` is no absolute http or https URL, ``timeout`` no positive number.
    """

    message: str
    url: str = field(validator=_absolute)
    key: str | None = field(default=None, kw_only=True)
    timeout: float | None = field(default=None, kw_only=True, validator=check_timeout)

    @property
    def needs(self) -> JsonObject:
        return URL_NEEDS

    def wire(self, note: str = "") -> JsonObject:
        return _elicitation({"mode": "url", "message": _noted(self.message, note), "url": self.url})

    def read(self, response: JsonObject) -> Reading[Consent]:
        if response.get("action") == "accept":
            return Given(Consent())
        return refusal(response)


@frozen
class Together(Question[A_co]):
    """Several questions of one round, answered by a tuple; made by :func:`all_of`."""

    questions: tuple[Single[object], ...]

    @property
    def needs(self) -> JsonObject:
        return merged(question.needs for question in self.questions)


@overload
def all_of(first: Single[A], second: Single[B], /) -> Together[tuple[A, B]]: ...
@overload
def all_of(
    first: Single[A], second: Single[B], third: Single[C], /
) -> Together[tuple[A, B, C]]: ...
@overload
def all_of(
    first: Single[A], second: Single[B], third: Single[C], fourth: Single[D], /
) -> Together[tuple[A, B, C, D]]: ...
@overload
def all_of(
    first: Single[A],
    second: Single[B],
    third: Single[C],
    fourth: Single[D],
    fifth: Single[E],
    /,
) -> Together[tuple[A, B, C, D, E]]: ...
def all_of(*questions: Single[Any]) -> Together[Any]:
    """Ask several questions in one round; the answer is the tuple of their answers.

    Raises:
        UsageError: fewer than two questions, or two with one key.
    """
    if len(questions) < 2:
        raise UsageError("all_of takes two questions or more")
    keys = [question.key for question in questions if question.key is not None]
    if len(set(keys)) != len(keys):
        raise UsageError("all_of was given two questions with one key")
    return Together(questions)


def merged(needs: Iterable[JsonObject]) -> JsonObject:
    """Capabilities put together, member by member."""
    whole: JsonObject = {}
    for need in needs:
        for name, value in need.items():
            there = whole.get(name)
            if isinstance(there, dict) and isinstance(value, dict):
                whole[name] = merged((there, value))
            else:
                whole[name] = value
    return whole


_FORMS_ONLY: Final[JsonObject] = {"form": {}}


def lacking(needs: JsonObject, declared: JsonObject) -> JsonObject:
    """The part of ``needs`` that a client has not declared; empty where it has all.

    ``elicitation: {}`` declares forms (client/elicitation, "Capabilities").
    """
    missing: JsonObject = {}
    for name, need in needs.items():
        offer = declared.get(name)
        if not isinstance(offer, dict):
            missing[name] = need
            continue
        if name == "elicitation" and not offer:
            offer = _FORMS_ONLY
        if isinstance(need, dict) and (parts := {k: v for k, v in need.items() if k not in offer}):
            missing[name] = parts
    return missing
