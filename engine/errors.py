"""The errors of Antiphon: one root, three families.

* :class:`UsageError`: our caller made a mistake, in code that can be mended.
* :class:`PeerError`: the other side of the wire broke the protocol or a limit.
* :class:`WorldError`: nobody did; a process died, a connection broke, time ran out.

Each message says who did what, and what to do now. No message holds a secret: no key, no
token, no answer of a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from .client_messages import InputRequired
    from .exchange import Deferral
    from .jsonrpc import JsonValue, RequestId

# The codes of JSON-RPC 2.0 and of the protocol (specification, basic/index, "Error Codes").
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

BUSY = 429
"""The code of the error that refuses a request because too many are pending already.

Ours: the protocol has none for it, and asks that new codes stand outside JSON-RPC's range. The
error's ``data`` names the limit that was reached.
"""


def printable(text: str) -> str:
    """Words of the other side, fit for an error: on one line, and nothing a terminal obeys."""
    shown = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(shown.split())


class AntiphonError(Exception):
    """The root of every error that Antiphon raises on purpose."""


Error = TypeVar("Error", bound=AntiphonError)


def lone(error: BaseException, kind: type[Error]) -> Error | None:
    """An error of this kind, also one that comes out of nurseries, alone in its group."""
    while isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        if len(group.exceptions) != 1:
            return None
        error = group.exceptions[0]
    return error if isinstance(error, kind) else None


class CallError(AntiphonError):
    """An error that ended a call of a client; each also belongs to one of the families.

    Attributes:
        interim: the last interim result of the call, or None where none had come. Its state is
            what another client would need to go on.
        deferral: the server would not serve the request now; None where it did not say so.
    """

    interim: InputRequired | None = None
    deferral: Deferral | None = None


# -- ours -------------------------------------------------------------------------------------


class UsageError(AntiphonError):
    """The calling program made a mistake; the message says how to mend it."""


class DefinitionError(UsageError, TypeError):
    """A flow, form or tool is declared wrongly. All faults are told at once.

    Attributes:
        subject: what was being declared.
        faults: one sentence for each fault, in the order in which they were found.
    """

    def __init__(self, subject: str, faults: Iterable[str]) -> None:
        self.subject = subject
        self.faults: tuple[str, ...] = tuple(faults)
        count = f"{len(self.faults)} faults" if len(self.faults) != 1 else "a fault"
        lines = "".join(f"\n  - {fault}" for fault in self.faults)
        super().__init__(f"{subject} has {count}:{lines}")


class SealingError(UsageError):
    """A state cannot be carried to the next round exactly as it is, or is too large."""


class IllegalMove(UsageError):
    """A handler returned something that its signature does not allow."""


class ToolError(AntiphonError):
    """Raised by a handler: its text is what the model reads, as an ``isError`` result.

    Of a prompt or a resource it becomes the message of the error. Anything else that a handler
    raises is logged and masked; this text is passed on as it is.
    """


def told(error: BaseException) -> str | None:
    """What the other side may read of what a handler raised: the text of a ToolError.

    Raises:
        MissingCapability: it is one.
    """
    if (missing := lone(error, MissingCapability)) is not None:
        raise missing from None
    tool_error = lone(error, ToolError)
    return None if tool_error is None else str(tool_error)


class ResourceNotFound(AntiphonError):
    """Raised by a handler of a resource or a template: nothing stands behind that uri."""

    def answer(self, uri: str) -> ProtocolError:
        """The error that tells the client so (specification, server/resources)."""
        return ProtocolError(INVALID_PARAMS, "Resource not found", {"uri": uri})


# -- the peer's -------------------------------------------------------------------------------


class PeerError(AntiphonError):
    """The other side of the wire made a mistake, or refused."""


class ProtocolError(PeerError):
    """A message that cannot be served, as the JSON-RPC error that answers it.

    Attributes:
        code: the JSON-RPC error code.
        message: one sentence for the peer.
        data: what the specification lets the peer act on, or ``None``.
        id: the id of the offending request where it could be read.
    """

    def __init__(
        self,
        code: int,
        message: str,
        data: JsonValue = None,
        *,
        id: RequestId | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.id = id


class MissingCapability(ProtocolError):
    """A request needs capabilities which the client did not declare."""

    def __init__(self, required: Mapping[str, JsonValue], message: str) -> None:
        super().__init__(MISSING_CAPABILITY, message, {"requiredCapabilities": dict(required)})


def method_not_found(method: str) -> ProtocolError:
    """The error for a method that is not served."""
    return ProtocolError(METHOD_NOT_FOUND, f"Method not found: {method[:128]}")


def unsupported_version(
    requested: str, supported: Sequence[str], message: str | None = None
) -> ProtocolError:
    """The error for a protocol revision that this server does not speak."""
    text = message or f"Unsupported protocol version; this server speaks {', '.join(supported)}"
    return ProtocolError(
        UNSUPPORTED_VERSION, text, {"requested": requested, "supported": list(supported)}
    )


class InvalidReply(CallError, PeerError):
    """The server sent something that is no valid reply to the request."""


# -- the world's ------------------------------------------------------------------------------


class WorldError(AntiphonError):
    """Nobody's mistake: a process died, a connection broke, time ran out."""
