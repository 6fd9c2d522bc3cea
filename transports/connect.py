"""From a target to a client: a URL, a command, a server object, or a transport."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, NotRequired, TypeAlias, TypedDict, TypeGuard, Unpack, cast

import trio

from ..engine.background import background
from ..engine.client import Client
from ..engine.client_messages import Discovery
from ..engine.client_options import ClientOptions, Settings
from ..engine.errors import UsageError
from ..engine.exchange import ClientTransport, RequestHandler
from ..engine.handshake_client import OPEN_SECONDS
from ..engine.handshake_era import MODERN, EraTransport, Mode, check_mode
from ..engine.handshake_link import SpeaksOlder
from ..engine.jsonrpc import JsonObject
from ..engine.limits import Limits

if TYPE_CHECKING:
    import httpx2

    from .http_client import Token

Target: TypeAlias = str | Sequence[str] | RequestHandler | ClientTransport


class HttpOptions(TypedDict, total=False):
    """For a URL; see :func:`~.http_client.open_http`."""

    headers: Mapping[str, str] | None
    token: Token | None
    client: httpx2.AsyncClient | None
    connect_timeout: float


class ChildOptions(TypedDict, total=False):
    """For a command; see :func:`~.child.open_child`."""

    env: Mapping[str, str] | None
    cwd: str | os.PathLike[str] | None
    stderr: Callable[[str], None] | None
    close_timeout: float
    terminate_timeout: float


class EraOptions(TypedDict, total=False):
    """Which revision the server is spoken to in; see :class:`~antiphon.engine.handshake_era`.

    Attributes:
        mode: "auto" finds out what the server speaks, "legacy" begins with the handshake of
            earlier revisions, "2026-07-28" never makes it. A server object, and a transport that
            cannot carry earlier revisions, are always spoken to in this one.
        prior_discover: what ``discover()`` of an earlier client of the same server gave, which
            saves finding out.
    """

    mode: Mode
    prior_discover: Discovery | None


class TransportOptions(HttpOptions, ChildOptions, EraOptions, total=False):
    """The keyword arguments of :func:`open_transport`."""


class _Traits(TypedDict):
    """What a transport takes over from its client; see :class:`EraTransport`."""

    limits: Limits
    open_seconds: NotRequired[float]
    declared: NotRequired[JsonObject]


class ConnectOptions(ClientOptions, TransportOptions, total=False):
    """The keyword arguments of :func:`open_client`."""


@asynccontextmanager
async def open_client(
    target: Target, **options: Unpack[ConnectOptions]
) -> AsyncGenerator[Client, None]:
    """A client of ``target``, for the length of a block.

    What the block raises comes out as it is, in no group.

    Args:
        target: an ``http://`` or ``https://`` URL; a command, as a sequence or as one text that
            is split as a shell would; a server object in this process; or a transport, which
            stays its owner's to close.
        options: how the client behaves, see :class:`~antiphon.engine.client_options.Settings`;
            for a URL, see :class:`HttpOptions`; for a command, see :class:`ChildOptions`; for
            servers of earlier revisions, see :class:`EraOptions`.

    Raises:
        UsageError: the target is none of these, or an option does not fit it.
        TransportLost: a child could not be started.
    """
    ours, theirs = _sorted_out(options)
    settings = Settings(**ours)  # told before anything is started
    traits: _Traits = {
        "limits": settings.limits,
        "open_seconds": max(OPEN_SECONDS, settings.people_timeout or 0.0),
        "declared": settings.declared(settings.callbacks.kinds - settings.refused),
    }
    async with _transport(target, theirs, traits) as transport:
        client = Client(transport, **ours)
        try:
            yield client
        finally:
            client.close()


def open_transport(
    target: Target, *, limits: Limits | None = None, **options: Unpack[TransportOptions]
) -> AbstractAsyncContextManager[ClientTransport]:
    """What carries the requests of :func:`open_client`, for who puts something around it.

    Raises:
        UsageError, TransportLost: as for :func:`open_client`; on entering it, or before.
    """
    _, theirs = _sorted_out(cast(ConnectOptions, options))
    return _transport(target, theirs, {"limits": limits or Limits()})


async def connect_client(
    nursery: trio.Nursery, target: Target, **options: Unpack[ConnectOptions]
) -> Client:
    """A client that lives in a nursery of the caller, until ``await client.aclose()``.

    It is what :func:`open_client` gives. What goes wrong in its background goes to the nursery;
    cancelling the nursery closes it in good order.

    Raises:
        UsageError, TransportLost: as for :func:`open_client`.
    """
    return cast(Client, await nursery.start(_keep_open, target, options))


async def _keep_open(
    target: Target, options: ConnectOptions, *, task_status: trio.TaskStatus[Client]
) -> None:
    closing, closed = trio.Event(), trio.Event()

    async def close() -> None:
        closing.set()
        await closed.wait()

    try:
        async with open_client(target, **options) as client:
            client.close_by(close)
            task_status.started(client)
            await closing.wait()
    finally:
        closed.set()


# -- targets ----------------------------------------------------------------------------------

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_HTTP = HttpOptions.__optional_keys__
_ERA = EraOptions.__optional_keys__
_CHILD = ChildOptions.__optional_keys__
_Given: TypeAlias = dict[str, object]


def _sorted_out(options: ConnectOptions) -> tuple[ClientOptions, _Given]:
    """The client's own options, and those of the transport that were given."""
    whole = cast("_Given", options)
    transports = _HTTP | _CHILD | _ERA
    ours = {name: value for name, value in whole.items() if name not in transports}
    theirs = {n: v for n, v in whole.items() if n in transports and v is not None}
    return cast(ClientOptions, ours), theirs


def is_url(target: object) -> TypeGuard[str]:
    """Whether a target is an address, and no command."""
    return isinstance(target, str) and _URL.match(target) is not None


def _transport(
    target: Target, given: _Given, traits: _Traits
) -> AbstractAsyncContextManager[ClientTransport]:
    mode = cast(Mode, given.pop("mode", "auto"))
    prior = cast("Discovery | None", given.pop("prior_discover", None))
    check_mode(mode, prior)
    inner = _plain_transport(target, given, traits["limits"])
    older = not hasattr(target, "handle") and not (
        hasattr(target, "exchange") and not isinstance(target, SpeaksOlder)
    )
    if mode == "legacy" and not older:
        raise UsageError("mode='legacy' means nothing for a target that speaks this revision only")
    if mode == MODERN or not older:
        return inner
    return _negotiating(inner, mode, prior, traits)


@asynccontextmanager
async def _negotiating(
    inner: AbstractAsyncContextManager[ClientTransport],
    mode: Mode,
    prior: Discovery | None,
    traits: _Traits,
) -> AsyncGenerator[ClientTransport, None]:
    async with inner as transport, background() as nursery:
        outer = EraTransport(transport, nursery, mode=mode, prior=prior, **traits)
        try:
            yield outer
        finally:
            await outer.close()
            nursery.cancel_scope.cancel()


def _plain_transport(
    target: Target, given: _Given, limits: Limits
) -> AbstractAsyncContextManager[ClientTransport]:
    if is_url(target):
        return _http(target, given, limits)
    if isinstance(target, str | Sequence):
        return _child(target, given, limits)
    if hasattr(target, "handle"):
        from .memory import open_memory

        _fit(given, frozenset(), "a server object")
        return open_memory(cast(RequestHandler, target), limits=limits)
    if hasattr(target, "exchange"):
        _fit(given, frozenset(), "a transport")
        return nullcontext(cast(ClientTransport, target))
    raise UsageError(
        f"{type(target).__name__} is no target: give a URL, a command, a server or a transport"
    )


def _http(url: str, given: _Given, limits: Limits) -> AbstractAsyncContextManager[ClientTransport]:
    if not url.lower().startswith(("http://", "https://")):
        raise UsageError("A URL as a target begins with http:// or https://")
    _fit(given, _HTTP, "a URL")
    # httpx2 takes a while to import, and only this needs it.
    from .http_client import open_http

    return open_http(url, **cast(HttpOptions, given), limits=limits)


def _child(
    command: str | Sequence[str], given: _Given, limits: Limits
) -> AbstractAsyncContextManager[ClientTransport]:
    _fit(given, _CHILD, "a command")
    words = _words(command)
    from .child import open_child

    return open_child(words, **cast(ChildOptions, given), limits=limits)


def _words(command: str | Sequence[str]) -> list[str]:
    try:
        words: list[object] = [*(shlex.split(command) if isinstance(command, str) else command)]
    except ValueError as error:
        raise UsageError(f"The command cannot be split into words: {error}") from None
    if not words or not all(isinstance(word, str) for word in words):
        raise UsageError("A command is at least one word, and all of it text")
    return cast("list[str]", words)


def _fit(given: _Given, fitting: frozenset[str], target: str) -> None:
    if strange := sorted(given.keys() - fitting):
        raise UsageError(f"{', '.join(strange)} means nothing for {target} as the target")
