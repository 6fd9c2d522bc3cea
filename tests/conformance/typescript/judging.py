"""What a check of a server is, and how it is judged."""

import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from inspect import getmembers, iscoroutinefunction
from types import ModuleType
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

import trio
from attrs import define

from antiphon import Client, open_client
from antiphon.engine.exchange import ClientTransport
from antiphon.transports.connect import open_transport
from tests.conformance.typescript.runner import Check

E = TypeVar("E", bound=Exception)

PATIENCE: Final = 30.0

Wrap: TypeAlias = Callable[[ClientTransport], ClientTransport]


class Connect(Protocol):
    """Makes a client of the server; over stdio, each of a child of its own."""

    def __call__(
        self, *, wrap: Wrap | None = None, **options: Any
    ) -> AbstractAsyncContextManager[Client]:
        """``options`` are those of ``open_client``; ``wrap`` is put around its transport."""
        ...


Judged: TypeAlias = Callable[[Connect], Awaitable[None]]
"""A check: it raises where something is not as it should be."""


def connecting(target: str | list[str], **given: Any) -> Connect:
    """What connects to one target, with the options of its transport."""

    @asynccontextmanager
    async def connect(*, wrap: Wrap | None = None, **options: Any) -> AsyncGenerator[Client]:
        if wrap is None:
            async with open_client(target, **given, **options) as client:
                yield client
            return
        async with (
            open_transport(target, **given) as transport,
            open_client(wrap(transport), **options) as client,
        ):
            yield client

    return connect


def checks_of(*rooms: ModuleType) -> Iterator[tuple[str, Judged]]:
    """All coroutine functions that these modules define for others, by name."""
    for room in rooms:
        short = room.__name__.rpartition("_")[2]
        for name, check in getmembers(room, iscoroutinefunction):
            if check.__module__ == room.__name__ and not name.startswith("_"):
                yield f"{short}/{name}", check


async def judge(name: str, check: Judged, connect: Connect) -> Check:
    """Run one check, for as long as patience lasts."""
    try:
        with trio.fail_after(PATIENCE):
            await check(connect)
    except Exception as error:  # noqa: BLE001  # whatever it is, the others go on
        return Check(name, passed=False, told="".join(traceback.format_exception(error)))
    return Check(name, passed=True, told="")


def equal(got: object, wanted: object) -> None:
    """Say both where they differ, as no ``assert`` does outside of pytest.

    Raises:
        AssertionError: they differ.
    """
    if got != wanted:
        raise AssertionError(f"{got!r} is not {wanted!r}")


@define
class Caught(Generic[E]):
    """What :func:`raising` has caught."""

    _error: E | None = None

    @property
    def error(self) -> E:
        assert self._error is not None
        return self._error

    def take(self, error: E) -> None:
        self._error = error


@contextmanager
def raising(kind: type[E]) -> Generator[Caught[E]]:
    """Want an error, which can be looked at afterwards.

    Raises:
        AssertionError: there was none.
    """
    caught = Caught[E]()
    try:
        yield caught
    except kind as error:
        caught.take(error)
    else:
        raise AssertionError(f"It ended without {kind.__name__}")
