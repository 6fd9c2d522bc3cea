"""What may be said of one request of a client, and what is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypedDict

from .client_options import Settings, check_plain
from .errors import UsageError
from .hearing import Hearing, LogCallback, ProgressCallback
from .jsonrpc import JsonObject
from .protocol import (
    LOG_LEVELS,
    META_CAPABILITIES,
    META_CLIENT,
    META_LOG_LEVEL,
    META_VERSION,
    LogLevel,
)
from .snapshot import snapshot

_OWN_META: Final = frozenset(
    {"progressToken", META_VERSION, META_CLIENT, META_CAPABILITIES, META_LOG_LEVEL}
)
"""Members of ``_meta`` that the client sets. Others with the protocol's prefix are those of its
extensions (basic/index, "_meta")."""


class HearOptions(TypedDict, total=False):
    """Who hears what a server says during a request, or during each one of a call."""

    progress: ProgressCallback | None
    """A plain function for the progress of each; see :data:`~.hearing.ProgressCallback`."""
    log: LogCallback | None
    """A plain function for log messages, in place of the client's own."""
    log_level: LogLevel
    """From which level on log messages are asked for, in place of the client's own."""


class LoadOptions(HearOptions, total=False):
    """What may be said of a call that goes on."""

    check_results: bool
    """Whether a tool's result is held against its ``outputSchema``, in place of the client's own
    ``check_results``."""


class RequestOptions(HearOptions, total=False):
    """What may be said of one request."""

    meta: Mapping[str, object] | None
    """Members for the ``_meta`` of every request, such as those of an extension. They go before
    the trace context of a running OpenTelemetry span, which is told by itself."""


class CallOptions(RequestOptions, total=False):
    """What may be said of one call."""

    deadline: float | None
    """Seconds for the whole call, callbacks included; None for the client's own, ``math.inf``
    for none."""


class ToolOptions(CallOptions, LoadOptions, total=False):
    """What may be said of one call of a tool."""


def own_meta(meta: Mapping[str, object] | None) -> JsonObject:
    """A copy of what a caller wants in the ``_meta`` of its requests.

    Raises:
        UsageError: it cannot be sent, or holds what the client sets.
    """
    given = meta or {}
    if taken := sorted(_OWN_META & given.keys()):
        raise UsageError(f"meta must not hold {taken[0]!r}: the client sets it by itself")
    return snapshot(given, "The meta")


def hearing(options: HearOptions, settings: Settings) -> Hearing:
    """Who hears what is said during a request, where the caller or the client wants to.

    Raises:
        UsageError: an option makes no sense.
    """
    progress, log = options.get("progress"), options.get("log")
    check_plain("progress", progress)
    check_plain("log", log)
    level = options.get("log_level") or settings.log_level
    if level not in LOG_LEVELS:
        raise UsageError(f"log_level takes {', '.join(LOG_LEVELS)}; not {level!r}")
    return Hearing(progress, log or settings.log, level)
