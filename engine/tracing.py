"""The trace that a request belongs to, as its client tells it.

Specification: basic/index, "OpenTelemetry trace context"; W3C Trace Context and W3C Baggage.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from .jsonrpc import JsonValue

# W3C requires everybody to pass on no more than this of a state and of baggage. A parent has 55
# characters today; how many a later version may add is not said.
_PARENT_LENGTH: Final = 512
_STATE_LENGTH: Final = 512
_STATE_MEMBERS: Final = 32
_BAGGAGE_LENGTH: Final = 8192
_BAGGAGE_MEMBERS: Final = 64

_IDS: Final = r"-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
# A later version may append fields; ff is none.
_PARENT: Final = re.compile(rf"00{_IDS}|(?!00|ff)[0-9a-f]{{2}}{_IDS}(?:-[!-~]*)?")

_STATE_KEY: Final = (
    r"(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})"
)
_STATE_MEMBER: Final = re.compile(rf"({_STATE_KEY})=[ -+\--<>-~]{{0,255}}[!-+\--<>-~]")

# Possessive throughout: where a part ends is never in doubt, so nothing is tried twice.
_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++"  # noqa: S105  # HTTP's word, and no secret
_VALUE: Final = r"[ \t]*+=[ \t]*+[!#-+\--:<-\[\]-~]*+"
_PROPERTY: Final = rf"[ \t]*+;[ \t]*+{_TOKEN}(?:{_VALUE})?+"
_BAGGAGE_MEMBER: Final = re.compile(rf"{_TOKEN}{_VALUE}(?:{_PROPERTY})*+")


@frozen
class TraceContext:
    """The trace context of a request; what is malformed or too long counts as absent.

    A peer may claim any trace, so nothing but traces may depend on it.

    Attributes:
        traceparent: the client's span, as W3C Trace Context writes it.
        tracestate: what tracing vendors say of it; never without ``traceparent``.
        baggage: what the client's program hands on, as W3C Baggage writes it. It may be about a
            person, and is no part of the repr.
    """

    traceparent: str | None = None
    tracestate: str | None = None
    baggage: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, meta: Mapping[str, JsonValue]) -> TraceContext:
        """Read the trace context of a request's ``_meta``."""
        parent = _parent(meta.get("traceparent"))
        # Without its parent the state says nothing (W3C Trace Context, 3.3).
        state = _state(meta.get("tracestate")) if parent is not None else None
        return cls(parent, state, _baggage(meta.get("baggage")))

    def headers(self) -> dict[str, str]:
        """What is there, by name: as headers of HTTP, or members of another ``_meta``."""
        named = (
            ("traceparent", self.traceparent),
            ("tracestate", self.tracestate),
            ("baggage", self.baggage),
        )
        return {name: value for name, value in named if value is not None}


def _parent(value: JsonValue) -> str | None:
    if not isinstance(value, str) or len(value) > _PARENT_LENGTH:
        return None
    return value if _PARENT.fullmatch(value) else None


def _state(value: JsonValue) -> str | None:
    if not isinstance(value, str) or len(value) > _STATE_LENGTH:
        return None
    # Members may be empty (W3C Trace Context, 3.3.1.1).
    members = [member for part in value.split(",") if (member := part.strip(" \t"))]
    found = [match[1] for member in members if (match := _STATE_MEMBER.fullmatch(member))]
    once = len(set(found)) == len(members)
    return value if once and 0 < len(members) <= _STATE_MEMBERS else None


def _baggage(value: JsonValue) -> str | None:
    if not isinstance(value, str) or len(value) > _BAGGAGE_LENGTH:
        return None
    members = value.split(",")
    if len(members) > _BAGGAGE_MEMBERS:
        return None
    sound = all(_BAGGAGE_MEMBER.fullmatch(member.strip(" \t")) for member in members)
    return value if sound else None
