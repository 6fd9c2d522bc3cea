"""A parameter that a function fills: ``Annotated[T, Ask(fn)]`` on a tool, a prompt or a resource
template. ``fn`` gives the value, or a question whose answer is the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast, overload

import attrs
from attrs import field, frozen

from ..engine.deprecated_questions import ListRoots, Root, Sample, Sampled
from ..engine.jsonrpc import JsonObject, JsonValue
from ..engine.questions import Consent, Form, Given, Link, Question, Reading, Refusal, Single
from ..engine.schema import build
from ..engine.sealing import question_digest


class Ask:
    """Fills a parameter: ``region: Annotated[Region, Ask(which_region)]``.

    The parameter is no argument of the tool: a client does not see it and cannot supply it.

    Args:
        source: a function, ``async`` or not, or the message of a form whose fields are those of
            the parameter's type. A function takes what it needs by name: the tool's own
            arguments, other ``Ask`` parameters, the call. It returns a value, or a question
            (``Form[T]``, ``Link``, ``Sample``, ``ListRoots``) whose answer is the value. It runs
            at most once a round, and never again once its question is answered; a value that it
            gives without a question may be made again in each round.

    A refusal ends the call with a text for the model, unless the parameter takes the whole
    outcome: ``Annotated[Given[Region] | Refusal, Ask(which_region)]``.
    """

    __slots__ = ("source",)

    # To a strict checker the parameters of a lambda are Any only where it is told how many.
    @overload
    def __init__(self, source: str, /) -> None: ...
    @overload
    def __init__(self, source: Callable[[Any], object], /) -> None: ...
    @overload
    def __init__(self, source: Callable[[Any, Any], object], /) -> None: ...
    @overload
    def __init__(self, source: Callable[[Any, Any, Any], object], /) -> None: ...
    @overload
    def __init__(  # type: ignore[overload-cannot-match]  # it does: by names, by keywords only
        self, source: Callable[..., object], /
    ) -> None: ...
    def __init__(self, source: Callable[..., object] | str, /) -> None:
        """Note the function or the message."""
        self.source = source

    def __repr__(self) -> str:
        return f"Ask({self.source!r})"


# -- what answers a question ------------------------------------------------------------------


@frozen
class Answerable:
    """A type of answer, and how its responses are read without the question that was asked.

    Attributes:
        sample: any question that is answered so.
        digest: by which a token knows the type; of a form it covers the whole schema.
    """

    sample: Single[Any]

    @property
    def digest(self) -> bytes:
        return question_digest(self.sample.wire())

    def fits(self, question: Question[Any]) -> bool:
        """Whether the question is answered so."""
        if isinstance(self.sample, Form):
            asked = cast("Form[Any]", question)
            return isinstance(question, Form) and asked.answer is self.sample.answer
        return isinstance(question, type(self.sample))

    def holds(self, value: object) -> bool:
        """Whether a value is what the question would be answered by."""
        if isinstance(self.sample, Form):
            return isinstance(value, self.sample.answer)
        return isinstance(value, _VALUES[type(self.sample)])

    def reread(self, response: JsonObject) -> Reading[Any]:
        """Read a response that was accepted in an earlier round."""
        if not isinstance(self.sample, Form) or response.get("action") != "accept":
            return self.sample.read(response)
        # Its choices may have been known only then, so the schema is not asked again.
        return _filled_in(self.sample.answer, response.get("content"))


def _filled_in(answer: type[object], content: JsonValue) -> Reading[Any]:
    given = content if isinstance(content, dict) else {}
    known = {one.name for one in attrs.fields(cast("type[attrs.AttrsInstance]", answer))}
    own: JsonObject = {name: value for name, value in given.items() if name in known}
    try:
        return Given(build(own, answer))
    except ValueError:
        return None


_FIXED: Final[tuple[tuple[object, Single[Any]], ...]] = (
    (Consent, Link("-", "https://example.org")),
    (Sampled, Sample("-")),
    (tuple[Root, ...], ListRoots()),
)


_VALUES: Final[Mapping[type, type]] = {Link: Consent, Sample: Sampled, ListRoots: tuple}


def answerable(answer: object) -> Answerable | None:
    """How a type is asked for; None for one that only a value can fill.

    Raises:
        DefinitionError: it is meant as a form, and is not flat.
    """
    for kind, sample in _FIXED:
        if answer == kind:
            return Answerable(sample)
    if not isinstance(answer, type) or not attrs.has(answer) or issubclass(answer, Question):
        return None
    return Answerable(Form("-", answer))


# -- the parameter ----------------------------------------------------------------------------


@frozen
class AskParameter:
    """A parameter that a function fills.

    Attributes:
        function: what fills it.
        takes: the arguments and other ``Ask`` parameters that the function is given.
        call_as: which of the function's parameters takes the call, if one does.
        answers: what its questions may be answered by.
        whole: whether it takes the whole outcome, a refusal too.
        asks: whether the function may ask; ``gives``: whether it may give a value.
        waits_for: the ``Ask`` parameters that must be filled first.
        behind: these, those that they wait for, and so on.
    """

    name: str
    function: Callable[..., object] = field(repr=False)
    takes: tuple[str, ...] = ()
    call_as: str | None = None
    answers: tuple[Answerable, ...] = field(default=(), repr=False)
    whole: bool = False
    asks: bool = True
    gives: bool = True
    waits_for: tuple[str, ...] = ()
    behind: frozenset[str] = frozenset()

    @property
    def forms(self) -> list[type]:
        """The answers of the forms that it may be asked for by."""
        samples = [answer.sample for answer in self.answers]
        return [cast(type, sample.answer) for sample in samples if isinstance(sample, Form)]

    def answerable(self, question: Question[Any]) -> Answerable | None:
        """What answers this question, where it is one that the parameter can take."""
        return next((answer for answer in self.answers if answer.fits(question)), None)

    def outcome(self, reading: Reading[Any]) -> Reading[Any]:
        """A reading as the parameter takes it."""
        if self.whole and isinstance(reading, Given | Refusal):
            return Given(cast("object", reading))
        return reading

    def valued(self, made: object) -> object:
        """A value that was given without a question, as the parameter takes it."""
        if self.whole and any(answer.holds(made) for answer in self.answers):
            return Given(made)
        return made

    def restored(self, digest: bytes, response: JsonObject) -> Reading[Any]:
        """A response of an earlier round, read again; None where it does not fit any more."""
        for answer in self.answers:
            if answer.digest == digest:
                return self.outcome(answer.reread(response))
        return None


def in_order(parameters: Iterable[AskParameter]) -> list[AskParameter]:
    """The parameters, each after those that it waits for, which have fewer behind them."""
    return sorted(parameters, key=lambda parameter: len(parameter.behind))
