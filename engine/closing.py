"""Telling what lasts that its end has come: a flag with listeners, and no task of its own."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from attrs import define, field

from .exchange import Exchange


class Closing:
    """What closes once: a connection, an application, a server.

    Listeners are called by :meth:`close`, in its task and before it returns, in the order in
    which they came. They must not raise.
    """

    def __init__(self) -> None:
        self._closed = False
        self._listeners: dict[object, Callable[[], object]] = {}

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._closed

    def close(self) -> None:
        """Tell every listener; a second call does nothing."""
        if not self._closed:
            self._closed = True
            for tell in list(self._listeners.values()):
                tell()

    def tell(self, listener: Callable[[], object]) -> None:
        """Have a listener told, for as long as there is something to close."""
        self._listeners[object()] = listener
        if self._closed:
            listener()

    @contextmanager
    def telling(self, listener: Callable[[], object]) -> Generator[None, None, None]:
        """Have a listener told while the block runs; at once, where all is closed already."""
        key = object()
        self._listeners[key] = listener
        try:
            if self._closed:
                listener()
            yield
        finally:
            del self._listeners[key]


@define
class ClosableExchange(Exchange):
    """An exchange whose transport says when it is about to close.

    Attributes:
        closing: closes before the connection does, so that what lasts can still end with a
            reply: a subscription does.
    """

    closing: Closing = field(factory=Closing)
