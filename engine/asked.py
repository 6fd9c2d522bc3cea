"""A server's questions as a client sees them, and the answers to them.

Forms and links. Sampling and roots, which the protocol deprecates, stand in
:mod:`.asked_deprecated`. Specification: client/elicitation; basic/patterns/mrtr.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar, Literal, NoReturn, TypeAlias, cast

from attrs import field, frozen

from .asked_form import AskedForm, Field, read_form
from .asked_links import Link, LinkWarning, read_link
from .asked_parts import Malformed
from .call_errors import AnswerInvalid, Kind, quoted
from .errors import UsageError
from .jsonrpc import JsonObject

Action: TypeAlias = Literal["accept", "decline", "cancel", "answer"]


# -- answers ----------------------------------------------------------------------------------


@frozen
class Accept:
    """The person agreed: ``content`` holds the fields of a form, and nothing for a link."""

    content: Mapping[str, object] | None = field(default=None, repr=False)


@frozen
class Decline:
    """The person said no."""


@frozen
class Cancel:
    """The person closed the question without an answer."""


ElicitationAnswer: TypeAlias = Accept | Decline | Cancel | Mapping[str, object]
"""A mapping is short for :class:`Accept` with it."""


@frozen
class Response:
    """An answer that was checked against its question, as it goes over the wire."""

    action: Action
    wire: JsonObject = field(repr=False)


# -- questions --------------------------------------------------------------------------------


@frozen
class Origin:
    """Where a question comes from.

    Attributes:
        server: how the server names itself, which nobody has verified, or the target's name.
        via: the target as this program named it: the command or address.
        method: the request that it belongs to, ``tools/call``; ``roots/list`` where a server of
            an earlier revision asks for roots outside of any call.
        target: what that request names: the tool. Empty outside of any call.
    """

    server: str
    via: str
    method: str
    target: str

    def __str__(self) -> str:
        return f"{quoted(self.target or self.method)} of {quoted(self.server)}"


@frozen(kw_only=True)
class InputRequest(ABC):
    """A question of a server, understood; never shown or followed by Antiphon itself.

    Attributes:
        key: the question's name within its round.
        origin: who asks, and why.
    """

    kind: ClassVar[Kind]
    key: str
    origin: Origin

    @property
    def server(self) -> str:
        """How the server names itself; see :class:`Origin`."""
        return self.origin.server

    @property
    def target(self) -> str:
        """The tool whose call asks."""
        return self.origin.target

    def __str__(self) -> str:
        return f"question {quoted(self.key)} ({self.kind}) of {self.origin}"

    @abstractmethod
    def respond(self, answer: object) -> Response:
        """Check an answer and give it its wire form.

        Raises:
            AnswerInvalid: the question does not allow it; the message holds no value.
        """

    def _refuse(self, *faults: str) -> NoReturn:
        raise AnswerInvalid(str(self), self.key, faults)


class Elicitation(InputRequest):
    """A question that a person accepts, declines or cancels."""

    def respond(self, answer: object) -> Response:
        if isinstance(answer, Decline):
            return Response("decline", {"action": "decline"})
        if isinstance(answer, Cancel):
            return Response("cancel", {"action": "cancel"})
        if isinstance(answer, Mapping):
            answer = Accept(cast("Mapping[str, object]", answer))
        if not isinstance(answer, Accept):
            told = type(answer).__name__
            self._refuse(f"it is {told}, not Accept, Decline, Cancel or a mapping")
        return Response("accept", {"action": "accept", **self._accepted(answer.content)})

    @abstractmethod
    def _accepted(self, content: Mapping[str, object] | None) -> JsonObject: ...


@frozen(kw_only=True)
class FormRequest(Elicitation):
    """A form to be filled in by a person.

    Attributes:
        message: what the person reads.
        schema: the ``requestedSchema`` as the server sent it.
        form: its fields, and the check that an answer must pass.
    """

    kind: ClassVar[Kind] = "form"
    message: str
    schema: JsonObject = field(repr=False)
    form: AskedForm = field(repr=False)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The inputs to show, in the server's order."""
        return self.form.fields

    def _accepted(self, content: Mapping[str, object] | None) -> JsonObject:
        try:
            filled = self.form.fill(content or {})
        except UsageError as error:
            self._refuse(str(error))
        if faults := self.form.faults(filled):
            self._refuse(*faults)
        return {"content": filled}


@frozen(kw_only=True)
class UrlRequest(Elicitation):
    """A page that the person is asked to open; accepting says only that they agree to.

    Antiphon opens and fetches nothing. Show the whole address with its warnings, with the host
    standing out, and open it only when the person has agreed. Never fetch it.

    Attributes:
        message: what the person reads.
        url: an absolute http or https address, as the server sent it.
    """

    kind: ClassVar[Kind] = "url"
    message: str
    url: str = field(repr=False)

    @cached_property
    def link(self) -> Link:
        """The address, read as browsers read it."""
        return read_link(self.url)

    @property
    def host(self) -> str:
        """The host that the address leads to, in ASCII, whatever else the address contains."""
        return self.link.host

    @property
    def display_url(self) -> str:
        """The whole address in visible ASCII: what to show, and the same place as ``url``."""
        return "".join(self.display_parts)

    @property
    def display_parts(self) -> tuple[str, str, str]:
        """``display_url`` as what stands before the host, the host, and what comes after it."""
        return self.link.before, self.link.host, self.link.after

    @property
    def warnings(self) -> tuple[LinkWarning, ...]:
        """What is unusual or deceptive about the address; to be shown beside it."""
        return self.link.warnings

    def _accepted(self, content: Mapping[str, object] | None) -> JsonObject:
        if content:
            self._refuse("a link is accepted without content")
        return {}


# -- reading ----------------------------------------------------------------------------------


def read_elicitation(key: str, params: JsonObject, origin: Origin) -> Elicitation:
    """Understand the parameters of an ``elicitation/create``.

    Raises:
        Malformed: they are no form and no link.
    """
    message = params.get("message")
    if not isinstance(message, str):
        raise Malformed('"message" is not text')
    if elicitation_mode(params) == "url":
        return UrlRequest(key=key, origin=origin, message=message, url=_address(params))
    schema = params.get("requestedSchema")
    if not isinstance(schema, dict):
        raise Malformed('"requestedSchema" is not an object')
    form = read_form(schema)
    return FormRequest(key=key, origin=origin, message=message, schema=schema, form=form)


def elicitation_mode(params: JsonObject) -> Literal["form", "url"]:
    """Form or url; a question that does not say is a form.

    Raises:
        Malformed: the mode is neither.
    """
    match params.get("mode", "form"):
        case "form":
            return "form"
        case "url":
            return "url"
        case _:
            raise Malformed('"mode" is neither "form" nor "url"')


def _address(params: JsonObject) -> str:
    url = params.get("url")
    if not isinstance(url, str):
        raise Malformed('"url" is no address')
    read_link(url)
    return url
