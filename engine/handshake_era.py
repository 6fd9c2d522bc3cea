"""Which revision a server speaks, found out by asking it; and a transport that speaks either.

Over lines ``server/discover`` is asked before anything else, and not for ever. Over HTTP the first
request itself is sent, and the body of its refusal says what the server is. What was found out of
a server is remembered for as long as the program runs, and is found out anew where it fails.

Specification: basic/versioning, "Backward Compatibility with Initialization-Based Versions";
basic/transports/stdio and basic/transports/streamable-http, "Backward Compatibility".
"""

from __future__ import annotations

import secrets
from typing import Final, Literal, TypeAlias, cast, get_args

import attrs
import trio

from .client_messages import Discovery
from .errors import (
    BUSY,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    UNSUPPORTED_VERSION,
    CallError,
    InvalidReply,
    UsageError,
)
from .exchange import (
    AnswerRoots,
    ClientTransport,
    Deferred,
    FullyNamed,
    Mirroring,
    OnNotification,
    TransportLost,
)
from .handshake_client import DISCOVER, OPEN_SECONDS, OlderTransport, reads
from .handshake_client_shared import Shared
from .handshake_eras_known import Era, forget, recall, remember
from .handshake_link import SpeaksOlder, WithStatus
from .handshake_versions import HANDSHAKE_VERSIONS
from .jsonrpc import Failure, JsonObject, Notification, Reply, Request, Success
from .limits import Limits
from .protocol import META_PREFIX, SUPPORTED_VERSIONS
from .stored import home_of

Mode: TypeAlias = Literal["auto", "legacy", "2026-07-28"]
"""How a client speaks to its server: as it turns out to want it, always after a handshake of an
earlier revision, or never."""

MODES: Final[tuple[Mode, ...]] = get_args(Mode)
MODERN: Final[Mode] = "2026-07-28"

PROBE_SECONDS: Final = 5.0
"""Seconds for ``server/discover``; some servers of earlier revisions say nothing to it at all."""

_MODERN_CODES: Final = frozenset({UNSUPPORTED_VERSION, MISSING_CAPABILITY, HEADER_MISMATCH})
"""Errors that no server of an earlier revision sends."""

_AMBIGUOUS: Final = frozenset({METHOD_NOT_FOUND, INVALID_PARAMS})
"""Errors that servers of all revisions send."""

_ABOUT_US: Final = frozenset({401, 402, 403, 407, 408, 413, 429})
"""Statuses that are about this client or this request, whichever revision the server speaks."""


def check_mode(mode: Mode, prior: Discovery | None) -> None:
    """Check what a program says of its server.

    Raises:
        UsageError: it makes no sense.
    """
    if mode not in MODES:
        raise UsageError(f"mode takes {', '.join(MODES)}; not {mode!r}")
    if mode != "auto" and prior is not None:
        raise UsageError(f"prior_discover says what mode={mode!r} says already: keep one")


def era_of(discovery: Discovery) -> Era:
    """What a server speaks that has said this of itself."""
    return _era_by(discovery.supported_versions)


def _era_by(versions: object) -> Era:
    named = cast("list[object]", versions) if isinstance(versions, list) else []
    if any(version in SUPPORTED_VERSIONS for version in named):
        return "modern"
    return "older" if any(version in HANDSHAKE_VERSIONS for version in named) else "modern"


def _verdict(reply: Reply) -> Era:
    """What a server is, by its reply to ``server/discover``."""
    if isinstance(reply, Success):
        versions = reply.result.get("supportedVersions")
        if isinstance(versions, list):
            return _era_by(versions)
        return "modern" if "resultType" in reply.result else "older"
    if reply.code not in _MODERN_CODES:
        return "older"
    supported = reply.data.get("supported") if isinstance(reply.data, dict) else None
    return _era_by(supported)


class EraTransport:
    """A :class:`~.exchange.ClientTransport` to a server of whichever revision.

    It stands around another transport, whose name and other traits it has, and lives as long as
    the nursery that it is given; :meth:`close` ends it.

    Args:
        inner: the other transport; it can carry both.
        nursery: runs what goes on between requests.
        mode: "auto" or "legacy".
        prior: what the server has said of itself before, so that it is not asked.
        probe_seconds: see :data:`PROBE_SECONDS`.
        open_seconds: see :data:`~.handshake_client.OPEN_SECONDS`.
        limits: of the client.
        declared: the capabilities that it declares in general.
    """

    def __init__(
        self,
        inner: ClientTransport,
        nursery: trio.Nursery,
        *,
        mode: Mode = "auto",
        prior: Discovery | None = None,
        probe_seconds: float = PROBE_SECONDS,
        open_seconds: float = OPEN_SECONDS,
        limits: Limits | None = None,
        declared: JsonObject | None = None,
    ) -> None:
        if not isinstance(inner, SpeaksOlder):
            raise UsageError(f"{inner.name} cannot be spoken to in an earlier revision")
        self.name = inner.name
        if isinstance(inner, FullyNamed):
            self.full_target = inner.full_target
        credentials: object = getattr(inner, "authorization", None)
        if credentials is not None:
            self.authorization = credentials
        self._inner = inner
        self._probes = inner.probes
        self._older = OlderTransport(
            inner.name,
            inner.older,
            nursery,
            open_seconds=open_seconds,
            limits=limits,
            declared=declared,
        )
        self._auto = mode == "auto"
        self._probe_seconds = probe_seconds
        self._probe = Shared[Era](nursery, f"Asking {inner.name} for its revision")
        # Whether the server itself has shown it; what is remembered may be out of date.
        self._sure = not self._auto
        self._era: Era | None = "older"
        if self._auto:
            self._era = self._recalled() if prior is None else era_of(prior)
        self._fallen: TransportLost | None = None
        self._closed = False

    negotiates: bool = True

    @property
    def mirrors(self) -> bool:
        """Whether arguments are repeated beside the body; see :class:`~.exchange.Mirroring`."""
        inner = self._inner
        return isinstance(inner, Mirroring) and inner.mirrors and self._era != "older"

    @property
    def on_status(self) -> object:
        """Who is told of the status of answers, where the transport has any."""
        return cast("object", getattr(self._inner, "on_status"))  # noqa: B009  # it may have none

    @on_status.setter
    def on_status(self, told: object) -> None:
        setattr(self._inner, "on_status", told)  # noqa: B010  # as above

    async def close(self) -> None:
        """End what goes on between requests."""
        self._closed = True
        await self._older.close()

    def abandon(self, state: str) -> None:
        """See :class:`~.exchange.HoldingOpen`."""
        self._older.abandon(state)

    def answer_roots(self, answer: AnswerRoots) -> None:
        """See :class:`~.exchange.AskedForRoots`."""
        self._older.answer_roots(answer)

    async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
        """Send a request and wait for its reply, in the server's own revision.

        Raises:
            TransportLost, InvalidReply: as the transport inside.
            UsageError: the transport is closed.
        """
        if self._closed:
            raise UsageError(f"The connection to {self.name} is closed: its block has ended")
        if self._era is None and self._probes:
            era = await self._asked(request)
            if self._era is None:
                self._decide(era, sure=era == "modern")
        if self._era == "older":
            return await self._as_older(request, on_notification)
        if self._sure:
            return await self._inner.exchange(request, on_notification)
        return await self._tried(request, on_notification)

    # -- finding out ----------------------------------------------------------------------------

    def _decide(self, era: Era, *, sure: bool) -> None:
        self._era, self._sure = era, sure
        if sure:
            self._remember()

    async def _asked(self, request: Request) -> Era:
        """The era by ``server/discover``, in the name of whoever sends this request."""
        meta = request.params.get("_meta")
        given = meta if isinstance(meta, dict) else {}
        own: JsonObject = {n: value for n, value in given.items() if n.startswith(META_PREFIX)}
        probe = Request(f"probe-{secrets.token_hex(4)}", DISCOVER, {"_meta": own})

        async def ask() -> Era:
            return await self._probed(probe)

        return await self._probe.get(ask)

    async def _probed(self, probe: Request) -> Era:
        try:
            with trio.move_on_after(self._probe_seconds):
                return _verdict(await self._inner.exchange(probe, _unheard))
        except InvalidReply as error:
            if isinstance(error, WithStatus) and not _did_nothing(error):
                raise
        except TransportLost as error:
            if not error.sent or not self._probes:
                raise
            # Some servers end at a first message that is no handshake; the next request starts
            # another one, where that can be done.
            self._fallen = error
        return "older"

    # -- the first requests ---------------------------------------------------------------------

    async def _tried(self, request: Request, on_notification: OnNotification) -> Reply:
        """Send it in this revision, to a server that has not shown yet whether it speaks that."""
        try:
            reply = await self._inner.exchange(request, on_notification)
        except InvalidReply as error:
            self._doubt()
            if self._shown_modern or not _did_nothing(error):
                raise
            other = await self._after(request, on_notification, error)
            if other is None:
                raise
            return other
        except BaseException:
            self._doubt()
            raise
        if isinstance(reply, Success):
            if "resultType" in reply.result:
                self._decide("modern", sure=True)
            return reply
        if reply.code in _MODERN_CODES:
            self._decide(_verdict(reply), sure=_verdict(reply) == "modern")
            return reply if self._sure else await self._as_older(request, on_notification)
        if self._shown_modern or isinstance(reply, Deferred) or reply.code == BUSY:
            return reply
        return await self._after(request, on_notification, reply) or reply

    @property
    def _shown_modern(self) -> bool:
        return self._sure and self._era == "modern"

    async def _after(
        self, request: Request, on_notification: OnNotification, refused: Failure | CallError
    ) -> Reply | None:
        """Go on after a refusal, which does not say by itself which revision the server speaks;
        None where it is to stand."""
        if not _is_telling(request, refused):
            try:
                era = await self._asked(request)
            except CallError:
                return None
            if era == "modern":
                self._decide("modern", sure=True)
                return None
        return await self._otherwise(request, on_notification, refused)

    async def _otherwise(
        self, request: Request, on_notification: OnNotification, refused: Failure | CallError
    ) -> Reply | None:
        """Try the handshake, after a refusal; None where that one is to stand."""
        again = _did_nothing(refused) or reads(request)
        try:
            session = await self._older.greet(request)
        except CallError as error:
            if again and error.deferral is not None:
                raise
            # Where all is refused alike, once is enough.
            if isinstance(refused, CallError) and str(error) != str(refused):
                refused.add_note(f"Nor does it take the handshake of an earlier revision: {error}")
            return None
        if isinstance(session, Failure):
            busy = again and isinstance(session, Deferred)
            return attrs.evolve(session, id=request.id) if busy else None
        self._decide("older", sure=True)
        return await self._older.exchange(request, on_notification) if again else None

    # -- as an older one ------------------------------------------------------------------------

    async def _as_older(self, request: Request, on_notification: OnNotification) -> Reply:
        refusal = await self._refusal(request) if self._auto else None
        if refusal is None:
            return await self._older.exchange(request, on_notification)
        if isinstance(refusal, Deferred):
            return attrs.evolve(refusal, id=request.id)
        # It may be one of this revision that took its time to start, or that came in its place.
        self._forget()
        if await self._asked(request) == "modern":
            self._decide("modern", sure=True)
            return await self._inner.exchange(request, on_notification)
        if isinstance(refusal, InvalidReply):
            raise refusal
        return attrs.evolve(refusal, id=request.id)

    async def _refusal(self, request: Request) -> Failure | InvalidReply | None:
        """Why there is no handshake; None where it is done."""
        try:
            session = await self._older.greet(request)
        except InvalidReply as error:
            return error
        except TransportLost as error:
            if self._fallen is not None:
                error.add_note(f"Before that, at the request server/discover: {self._fallen}")
            raise
        if isinstance(session, Failure):
            return session
        self._decide("older", sure=True)
        return None

    # -- what is remembered ---------------------------------------------------------------------

    @property
    def _key(self) -> bytes | None:
        # A name alone may be that of many.
        return home_of(self._inner) if isinstance(self._inner, FullyNamed) else None

    def _recalled(self) -> Era | None:
        return None if self._key is None else recall(self._key)

    def _remember(self) -> None:
        if self._key is not None and self._era is not None:
            remember(self._key, self._era)

    def _doubt(self) -> None:
        """A request failed; what others have found out meanwhile stands."""
        if not self._sure:
            self._forget()

    def _forget(self) -> None:
        self._era, self._sure = None, False
        if self._key is not None:
            forget(self._key)


def _is_telling(request: Request, refused: Failure | CallError) -> bool:
    """Whether asking for the server's revision would say no more than this refusal does.

    What is no JSON-RPC at all may come from whatever stands before the server.
    """
    if not isinstance(refused, Failure):
        return False
    return request.method == DISCOVER or (_did_nothing(refused) and refused.code not in _AMBIGUOUS)


def _did_nothing(refusal: object) -> bool:
    """Whether a status says that the server did nothing, because of what it was sent."""
    status = refusal.status if isinstance(refusal, WithStatus) else 0
    return 400 <= status < 500 and status not in _ABOUT_US


def _unheard(notification: Notification) -> None:
    del notification
