"""Asking by hand: a function returns its questions, and is called again with the answers.

::

    @server.tool
    async def rename(name: str, call: Call) -> str | InputRequired:
        sure = Form(f"Rename to {name!r}?", Sure)
        match call.answer("sure", sure):
            case Given(answer) if answer.sure:
                return "renamed"
            case Given() | Refusal():
                return "kept"
            case _:
                return InputRequired({"sure": sure}, state={"asked": 1})

Specification: basic/patterns/mrtr.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from attrs import field, frozen

from .errors import UsageError
from .machine import Frozen
from .questions import Single
from .schema import never_plain
from .sealing import Reason, TokenRefused
from .sealing.exact import pack, unpack

TAG: Final = "by hand"


def _questions(_: object, __: object, requests: object) -> None:
    if not isinstance(requests, Mapping) or not all(
        isinstance(key, str) and isinstance(question, Single)
        for key, question in cast("Mapping[object, object]", requests).items()
    ):
        raise UsageError(
            "InputRequired(requests) takes questions by key, such as {'sure': Form(...)}"
        )


@frozen
class InputRequired:
    """What a tool, a prompt or a resource template returns when it cannot finish yet.

    The client comes back with the same request, and the function is called again from its
    first line: ``call.answer(key, question)`` reads an answer, ``call.request_state`` gives
    back ``state``, which is sealed on its way.

    Attributes:
        requests: the questions, by the key under which the answer comes back; none for a client
            that shall simply come back.
        state: what the next call needs: JSON values, bytes, tuples.

    Raises:
        UsageError: ``requests`` holds anything but questions, or both are empty.
    """

    requests: Mapping[str, Single[Any]] = field(
        factory=dict[str, Single[Any]], validator=_questions
    )
    state: Any = field(default=None, repr=False)  # whatever msgpack carries

    def __attrs_post_init__(self) -> None:
        if not self.requests and self.state is None:
            raise UsageError("InputRequired() has neither questions nor state to come back with")


# Inside a result it would ask nothing, and its state would be there for everybody to read.
never_plain(InputRequired, "it holds an InputRequired; return that alone, and not in a Done")


@frozen
class Returned:
    """A state that came back; the function makes its questions again where it needs them."""

    state: Any = field(repr=False)


def freeze(required: InputRequired, version: int) -> Frozen:
    """Pack the state; raises SealingError where it cannot be carried."""
    return Frozen(TAG, version, pack(required.state, "InputRequired(state=...)"))


def thaw(frozen: Frozen, version: int) -> Returned:
    """Restore the state.

    Raises:
        TokenRefused: the state was not sealed by hand, or is of another version.
    """
    if frozen.tag != TAG:
        raise TokenRefused(Reason.STATE_TAG)
    if frozen.version != version:
        detail = f"of version {frozen.version}, and the function reads version {version}"
        raise TokenRefused(Reason.STATE_VERSION, detail=detail)
    try:
        return Returned(unpack(frozen.data))
    except ValueError:
        raise TokenRefused(Reason.MALFORMED) from None
