"""What a client sends and takes: ``Content-Type``, ``Content-Encoding`` and ``Accept``.

Specification: basic/transports/streamable-http, "Sending Messages"; RFC 9110, 8.3, 8.4, 12.5.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from .headers import Fields
from .http_errors import Refused

_JSON: Final = re.compile(
    rb'application/json[ \t]*(?:;[ \t]*(?:charset="?utf-8"?[ \t]*)?)?', re.IGNORECASE
)
_WANTED: Final = ("application/json", "text/event-stream")


def check_media_types(fields: Fields) -> None:
    """See that the body is plain JSON and that the client takes both kinds of reply.

    A client must list both kinds in ``Accept``, for no server knows at the head of a request
    whether its reply will stream. Ranges such as ``*/*`` count, a weight of zero does not, and
    a request without ``Accept`` takes anything, as in RFC 9110.

    Raises:
        Refused: 415 for the body, 406 for the reply.
    """
    if not _is_json(fields.get(b"content-type")):
        raise Refused(415, "The Content-Type must be application/json, in UTF-8")
    if not _is_identity(fields.get(b"content-encoding")):
        raise Refused(
            415,
            "The body must not be compressed: send it without Content-Encoding",
            (b"accept-encoding", b"identity"),
        )
    if not takes_both(fields.get(b"accept")):
        raise Refused(406, f"The Accept header must list {_WANTED[0]} and {_WANTED[1]}")


@lru_cache(maxsize=64)
def _is_json(content_type: bytes | None) -> bool:
    return content_type is not None and _JSON.fullmatch(content_type) is not None


def _is_identity(encoding: bytes | None) -> bool:
    return encoding is None or encoding.lower() in (b"identity", b"")


@lru_cache(maxsize=64)
def takes_both(accept: bytes | None) -> bool:
    """Whether an ``Accept`` header admits JSON and an event stream."""
    return _takes(accept, *_WANTED)


@lru_cache(maxsize=64)
def takes_events(accept: bytes | None) -> bool:
    """Whether an ``Accept`` header admits an event stream."""
    return _takes(accept, _WANTED[1])


def _takes(accept: bytes | None, *kinds: str) -> bool:
    if not accept:
        return True
    weights = dict(map(_weighed, accept.decode("latin-1").lower().split(",")))
    return all(_weight(weights, kind) > 0 for kind in kinds)


def _weighed(part: str) -> tuple[str, float]:
    media_range, *parameters = (piece.strip() for piece in part.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name == "q":
            return media_range, _number(value)
    return media_range, 1.0


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _weight(weights: Mapping[str, float], kind: str) -> float:
    """The weight that the most specific range gives."""
    anything_alike = kind.partition("/")[0] + "/*"
    for media_range in (kind, anything_alike, "*/*"):
        if media_range in weights:
            return weights[media_range]
    return 0.0
