"""``--trace``: each request and its reply, a line each, with names and sizes and never a value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Final, Protocol, runtime_checkable

import trio
from attrs import define, field

from ..engine.client_carriers import CARRIERS
from ..engine.exchange import (
    AnswerRoots,
    AskedForRoots,
    ClientTransport,
    HoldingOpen,
    Mirroring,
    OnNotification,
    TransportLost,
)
from ..engine.handshake_link import META_OPEN_CALL
from ..engine.jsonrpc import (
    Failure,
    JsonObject,
    JsonValue,
    Notification,
    Reply,
    Request,
    RequestId,
    Success,
    write_message,
)
from .cli_text import one_line

_MOST_KEYS: Final = 20


@define
class Trace:
    """What is told of the requests of one client.

    Attributes:
        say: shows a line.
    """

    say: Callable[[str], None]
    _rounds: dict[tuple[str, str], int] = field(factory=dict[tuple[str, str], int], init=False)

    def begun(self, request: Request) -> Leg:
        """Tell of a request that is about to be sent."""
        leg = Leg(self.say, self._head(request))
        leg.tell("->", _size(write_message(request)), *_sent(request.params))
        return leg

    def _head(self, request: Request) -> str:
        carrier = CARRIERS.get(request.method)
        named = one_line(str(request.params.get(carrier.names))) if carrier else ""
        round = f"round {self._round(request, named)}" if carrier else ""
        return "  ".join(filter(None, [request.method, named, f"id {request.id}", round]))

    def _round(self, request: Request, named: str) -> int:
        goes_on = "requestState" in request.params or "inputResponses" in request.params
        call = (request.method, named)
        self._rounds[call] = self._rounds.get(call, 0) + 1 if goes_on else 1
        return self._rounds[call]


@define
class Leg:
    """One request under way, and what comes of it.

    Attributes:
        status: that of the answer, where it comes over HTTP and has begun.
    """

    _say: Callable[[str], None]
    _head: str
    status: int | None = field(default=None, init=False)
    _heard: int = field(default=0, init=False)
    _since: float = field(factory=trio.current_time, init=False)

    def tell(self, arrow: str, *words: str) -> None:
        """Show one line about this request."""
        self._say("  ".join([arrow, self._head, *filter(None, words)]))

    def hearing(self, on_notification: OnNotification) -> OnNotification:
        """The same, counted."""

        def heard(notification: Notification) -> None:
            self._heard += 1
            on_notification(notification)

        return heard

    def replied(self, reply: Reply) -> None:
        """Tell of the reply."""
        if isinstance(reply, Failure):
            what = [f"error {reply.code}", one_line(reply.message)]
        else:
            what = list(_came(reply.result))
        self._over(what[0], _size(write_message(reply)), *what[1:])

    def broke(self, error: BaseException) -> None:
        """Tell that none came."""
        if isinstance(error, trio.Cancelled):
            self._over("cancelled")
            return
        arrived = "may have arrived" if isinstance(error, TransportLost) and error.sent else ""
        self._over(f"no reply: {type(error).__name__}", arrived)

    def _over(self, what: str, *more: str) -> None:
        took = f"{(trio.current_time() - self._since) * 1000:.0f} ms"
        notifications = f"notifications: {self._heard}" if self._heard else ""
        http = "" if self.status is None else f"HTTP {self.status}"
        self.tell("<-", http, what, took, *more, notifications)


@runtime_checkable
class SpeaksHttp(Protocol):
    """A transport that says which status an answer has, as soon as it begins."""

    on_status: Callable[[Request, int], None]


class TracedTransport:
    """A transport whose requests are told of; otherwise the one that it was made of."""

    def __init__(self, inner: ClientTransport, trace: Trace) -> None:
        self._inner = inner
        self._trace = trace
        self._under_way: dict[RequestId, Leg] = {}
        self._open: dict[str, int] = {}
        if isinstance(inner, SpeaksHttp):
            inner.on_status = self._began
        self.name = inner.name
        self.full_target: str = getattr(inner, "full_target", inner.name)
        self.negotiates: bool = getattr(inner, "negotiates", False)

    @property
    def mirrors(self) -> bool:
        """As the inner one, which may find out later that it does not."""
        return isinstance(self._inner, Mirroring) and self._inner.mirrors

    def abandon(self, state: str) -> None:
        """Give a call up as the inner one does."""
        if isinstance(self._inner, HoldingOpen):
            self._inner.abandon(state)

    def answer_roots(self, answer: AnswerRoots) -> None:
        """Have roots told as the inner one does."""
        if isinstance(self._inner, AskedForRoots):
            self._inner.answer_roots(answer)

    async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
        """Exchange as the inner one does, and tell of it."""
        leg = self._under_way[request.id] = self._trace.begun(request)
        leg.status = self._open.pop(str(request.params.get("requestState")), None)
        try:
            reply = await self._inner.exchange(request, leg.hearing(on_notification))
        except BaseException as error:
            leg.broke(error)
            raise
        finally:
            del self._under_way[request.id]
        leg.replied(reply)
        self._keep(leg, reply)
        return reply

    def _keep(self, leg: Leg, reply: Reply) -> None:
        """Where a call stays open, what comes of its next leg is a part of the same answer."""
        result = reply.result if isinstance(reply, Success) else {}
        state, meta = result.get("requestState"), result.get("_meta")
        stays_open = isinstance(meta, dict) and META_OPEN_CALL in meta
        if stays_open and isinstance(state, str) and leg.status is not None:
            self._open[state] = leg.status

    def _began(self, request: Request, status: int) -> None:
        if (leg := self._under_way.get(request.id)) is not None:
            leg.status = status


# -- words ------------------------------------------------------------------------------------


def _sent(params: JsonObject) -> Iterator[str]:
    """What a request brings, by name and size."""
    for title, member in (("arguments", "arguments"), ("answers", "inputResponses")):
        yield _keys(title, params.get(member))
    yield _state(params)


def _came(result: JsonObject) -> Iterator[str]:
    """What a reply brings, by name and size."""
    yield one_line(str(result.get("resultType", "complete")))
    if result.get("isError") is True:
        yield "isError"
    yield _keys("asks", result.get("inputRequests"))
    yield _state(result)


def _keys(title: str, value: JsonValue) -> str:
    return f"{title}: {_listed(value)}" if isinstance(value, dict) and value else ""


def _listed(names: Collection[str]) -> str:
    shown = [one_line(name, 60) for name in list(names)[:_MOST_KEYS]]
    more = len(names) - len(shown)
    return ", ".join([*shown, *([f"{more} more"] if more else [])])


def _state(members: JsonObject) -> str:
    state = members.get("requestState")
    return f"state: {len(state)} characters" if isinstance(state, str) else ""


def _size(message: bytes) -> str:
    return f"{len(message)} bytes"
