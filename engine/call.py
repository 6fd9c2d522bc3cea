"""What a handler may know of the request that it serves."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import trio
from attrs import define, field

from .errors import UsageError
from .exchange import Principal
from .jsonrpc import JsonObject, JsonValue, Notification
from .outcomes import Event
from .protocol import Implementation

Args_co = TypeVar("Args_co", covariant=True)
_log = logging.getLogger("antiphon.call")


@define
class Call(Generic[Args_co]):
    """The request that a handler serves; give a handler a trailing ``call`` to receive it.

    Attributes:
        args: the tool's arguments.
        principal: the verified sender, or None where nobody was asked for credentials.
        client: how the client names itself; nothing may depend on it.
        capabilities: what the client declared in this very request.
        meta: the request's whole ``_meta``.
        round: 1 for the opening request, one more for each that continues it.
        flow_id: the same in all rounds of one conversation; for logs and as a key for
            work that must not be done twice.
        event: what made the flow move: the reason of an ``unusable`` edge, what is missing on
            an ``unavailable`` one.
    """

    args: Args_co
    principal: Principal | None = None
    client: Implementation | None = None
    capabilities: JsonObject = field(factory=dict[str, JsonValue])
    meta: JsonObject = field(factory=dict[str, JsonValue])
    round: int = 1
    flow_id: str = ""
    event: Event | None = None
    _progress_token: str | int | None = field(default=None, alias="progress_token")
    _notify: Callable[[Notification], Awaitable[None]] | None = field(
        default=None, repr=False, alias="notify"
    )
    _reported: float | None = field(default=None, init=False, repr=False)

    @property
    def deadline(self) -> float:
        """When this request's handler will be cancelled, on trio's clock; infinity if never."""
        return trio.current_effective_deadline()

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger of this program whose records carry ``flow_id`` and ``round``."""
        return logging.LoggerAdapter(_log, {"flow_id": self.flow_id, "round": self.round})

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the client how far the work is, where it asked to know.

        A value that is no higher than the last one told is left out: progress only rises
        (specification, basic/patterns/progress).

        Raises:
            UsageError: a number is NaN or infinite, which no client could be told.
        """
        if not all(map(math.isfinite, (done, total or 0))):
            raise UsageError("Progress is told in finite numbers")
        if self._progress_token is None or self._notify is None:
            return
        if self._reported is not None and done <= self._reported:
            return
        self._reported = done
        params: JsonObject = {"progressToken": self._progress_token, "progress": done}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        await self._notify(Notification("notifications/progress", params))
