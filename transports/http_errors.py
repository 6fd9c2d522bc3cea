"""The HTTP status of every error, and the refusals that come before JSON-RPC has a say.

Specification: basic/transports/streamable-http; basic/index, "Error Codes".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..engine.errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    PeerError,
)
from ..engine.jsonrpc import Failure, Reply, Success, write_message
from .busy import BUSY

JSON: Final = (b"content-type", b"application/json")
RETRY_AFTER: Final = (b"retry-after", b"1")
TEXT: Final = (b"content-type", b"text/plain; charset=utf-8")

STATUS: Final[Mapping[int, int]] = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
    BUSY: 503,
}
"""The HTTP status of a JSON-RPC error code.

The specification asks for 400 where ``_meta`` is malformed, which is -32602 like every other
fault of the parameters. A code that is not listed is an application's own, and -32603 is how a
prompt or a resource says that it failed: the exchange itself went well, so its status is 200.
Official clients read an error with another status than 400 as one of the transport.
"""


def status_of(reply: Reply) -> int:
    """The HTTP status of a reply that is sent as a single body."""
    return 200 if isinstance(reply, Success) else STATUS.get(reply.code, 200)


def headers_of(status: int) -> tuple[tuple[bytes, bytes], ...]:
    """The headers of a reply that is sent as a single body with this status."""
    return (JSON, RETRY_AFTER) if status == 503 else (JSON,)


class Refused(PeerError):
    """A request that is refused for its HTTP head or size, before its message is looked at.

    Attributes:
        status: the HTTP status.
        headers: what belongs to the status, ``Content-Type`` included.
        body: a JSON-RPC error without an id, which is what a client can show; or plain text
            where ``code`` is None, for a JSON-RPC error would say that an endpoint is here.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *headers: tuple[bytes, bytes],
        code: int | None = INVALID_REQUEST,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = (JSON if code is not None else TEXT, *headers)
        self.body = (
            write_message(Failure(None, code, message)) if code is not None else message.encode()
        )
