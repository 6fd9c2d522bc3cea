"""The client's end of stdio: a server as our child process.

Specification: basic/transports/stdio ("Shutdown", "Unexpected Termination").
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import signal
import subprocess
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final, TypeAlias, cast

import trio
from attrs import define, field, frozen

from ..engine.background import background
from ..engine.errors import UsageError
from ..engine.exchange import OnNotification, TransportLost
from ..engine.jsonrpc import Reply, Request
from ..engine.limits import Limits
from .line_client import FLUSH, LineTransport
from .line_older import LineLink
from .tail import Tail, forward

logger = logging.getLogger("antiphon.stdio")

INHERITED: Final = frozenset(
    {"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "SYSTEMROOT", "TERM", "TMPDIR", "TZ", "USER"}
    | {"VIRTUAL_ENV"}
)
"""What a child gets of our environment, besides LC_*: nothing that could be a secret."""

KILL_TIMEOUT: Final = 5.0
"""Seconds for the system to end a killed process; only one stuck in the kernel takes longer."""

STDERR_TIMEOUT: Final = 0.5
"""Seconds for the last words of an ended child, whose own children may hold its stderr open."""

SECRET: Final = 6
"""Characters from which on a given variable's value is taken out of error texts."""


@define
class Restarts:
    """When a server that died is started again: soon, then later, then not for a while.

    Attributes:
        delays: seconds before each restart within one window.
        window: seconds.
    """

    delays: tuple[float, ...] = (0.0, 0.1, 0.5)
    window: float = 30.0
    _times: deque[float] = field(factory=deque[float], init=False, repr=False)

    def delay(self, now: float) -> float | None:
        """Count a restart and return the seconds to wait before it; None if it is one too many."""
        while self._times and self._times[0] <= now - self.window:
            self._times.popleft()
        if len(self._times) == len(self.delays):
            return None
        self._times.append(now)
        return self.delays[len(self._times) - 1]


@asynccontextmanager
async def open_child(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    stderr: Callable[[str], None] | None = None,
    limits: Limits | None = None,
    close_timeout: float = 2.0,
    terminate_timeout: float = 2.0,
) -> AsyncGenerator[ChildTransport, None]:
    """Start a server as a child process and hold it until the end of the block.

    The child gets a few harmless variables of our environment (:data:`INHERITED`) and ``env``,
    never our standard input, and a session of its own, so that an interrupt from the keyboard
    reaches us alone. Each line of its standard error goes to ``stderr``, by default to ours.

    At the end its input is closed; what has not exited ``close_timeout`` seconds later is
    terminated, ``terminate_timeout`` later killed, with its process group. That takes place
    under cancellation too, and leaves no process behind.

    When it dies in between, open requests end with :class:`TransportLost`; none is sent again.
    The next one starts a new child, within what :class:`Restarts` allows.

    Raises:
        TransportLost: it could not be started; ``sent`` is False.
        UsageError: the command or the environment is none.
    """
    launch = Launch(
        name=label(command),
        command=list(command),
        env=dict(env or {}),
        cwd=cwd,
        on_line=stderr or forward,
        limits=limits or Limits(),
        close_timeout=close_timeout,
        terminate_timeout=terminate_timeout,
    )
    async with background() as nursery:
        transport = ChildTransport(launch, nursery)
        try:
            await transport.start()
            yield transport
        finally:
            transport.close()


class ChildTransport:
    """A :class:`~antiphon.engine.exchange.ClientTransport` to a child; see :func:`open_child`."""

    probes: bool = True  # as LineTransport

    def __init__(self, launch: Launch, nursery: trio.Nursery) -> None:
        self.name = launch.name
        self.full_target = shlex.join(map(str, launch.command))
        self._launch = launch
        self._nursery = nursery
        self._restarts = Restarts()
        self._starting = trio.Lock()
        self._child: Child | None = None
        self._closed = False

    async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
        """Send a request and wait for its reply, as :meth:`LineTransport.exchange` does.

        Raises:
            TransportLost: the child died, or a new one could not be started. ``detail`` is the
                end of its standard error.
        """
        child = await self._living()
        return await child.wire.exchange(request, on_notification)

    def older(self) -> LineLink:
        """A link to the child for an earlier revision; to the next one, where it has died."""

        async def living() -> LineTransport:
            return (await self._living()).wire

        return LineLink(self.name, living)

    async def start(self) -> Child:
        """Start a child now, without looking at the one before."""
        child = Child(self._launch, await self._launch.spawn())
        if self._closed:  # meanwhile; our nursery takes nothing any more
            child.close()
            await child.live()
            raise self._after_the_end()
        self._child = child
        self._nursery.start_soon(child.live)
        return child

    def close(self) -> None:
        """Begin the end of the child; the nursery waits for it."""
        self._closed = True
        if self._child is not None:
            self._child.close()

    async def _living(self) -> Child:
        if self._closed:
            raise self._after_the_end()
        if self._child is not None and self._child.alive:
            return self._child
        async with self._starting:
            return await self._restarted(self._child)

    def _after_the_end(self) -> UsageError:
        return UsageError(f"The connection to {self.name} is closed: its block has ended")

    async def _restarted(self, former: Child | None) -> Child:
        if former is None:
            return await self.start()
        if former.alive:  # another task has started it
            return former
        await former.gone.wait()
        delay = self._restarts.delay(trio.current_time())
        if delay is None:
            raise TransportLost(
                f"{self.name} has died {len(self._restarts.delays) + 1} times within "
                f"{self._restarts.window:g} seconds and is not started again for now; "
                "the request was not sent",
                sent=False,
                detail=former.last_words,
            )
        await trio.sleep(delay)
        logger.warning("%s is started again", self.name)
        return await self.start()


@frozen(kw_only=True)
class Launch:
    """How to start a server, and how long to wait for its end."""

    name: str
    command: list[str] = field(repr=False)
    env: dict[str, str] = field(repr=False)
    cwd: str | os.PathLike[str] | None
    on_line: Callable[[str], None]
    limits: Limits
    close_timeout: float
    terminate_timeout: float

    async def spawn(self) -> trio.Process:
        """Start the process.

        Raises:
            TransportLost: the system refused.
            UsageError: the command or the environment cannot be passed on at all.
        """
        inherited = {k: v for k, v in os.environ.items() if k in INHERITED or k[:3] == "LC_"}
        try:
            return await trio.lowlevel.open_process(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=inherited | self.env,
                cwd=self.cwd,
                start_new_session=True,
            )
        except OSError as error:
            text = f"Cannot start {self.name}: {error.strerror} ({error.filename or 'no file'})"
            raise TransportLost(text, sent=False) from None
        except (ValueError, TypeError) as error:
            raise UsageError(f"Cannot start {self.name}: {error}") from None

    def redact(self, text: str) -> str:
        """The text without the values of the given variables, for logs and errors."""
        # The longest first: one secret may begin with another.
        for name, value in sorted(self.env.items(), key=lambda given: -len(given[1])):
            if len(value) >= SECRET:
                text = text.replace(value, f"[{name}]")
        return text


Pipes: TypeAlias = tuple[trio.abc.SendStream, trio.abc.ReceiveStream, trio.abc.ReceiveStream]


@define(eq=False)
class Child:
    """One process, from its start until it is reaped.

    Attributes:
        gone: set when the process is reaped and every exchange with it has ended.
        last_words: the end of its standard error, once it is gone.
    """

    _launch: Launch
    _process: trio.Process
    wire: LineTransport = field(init=False)
    gone: trio.Event = field(factory=trio.Event, init=False)
    last_words: str = field(default="", init=False)
    _pipes: Pipes = field(init=False)
    _tail: Tail = field(init=False)
    _over: trio.Event = field(factory=trio.Event, init=False)
    _closing: bool = field(default=False, init=False)
    _stopped_by_us: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        process, launch = self._process, self._launch
        # Never None: we asked for all three.
        self._pipes = cast(Pipes, (process.stdin, process.stdout, process.stderr))
        stdin, stdout, stderr = self._pipes
        self.wire = LineTransport(
            stdout,
            stdin,
            name=launch.name,
            limits=launch.limits,
            pipe=True,
            redact=launch.redact,
        )
        self._tail = Tail(stderr, launch.on_line)

    @property
    def alive(self) -> bool:
        """Whether a request may still be answered."""
        return not self._over.is_set() and self._process.returncode is None

    def close(self) -> None:
        """Begin the end."""
        self._closing = True
        self._over.set()

    async def live(self) -> None:
        """Carry bytes until the process or the wish for it ends, then see it out."""
        try:
            async with trio.open_nursery() as nursery:
                # Cancelling us would leave the process behind. It is close() that ends this, called
                # when the block that holds the child is left; from there on every wait is bounded.
                nursery.cancel_scope.shield = True
                nursery.start_soon(self._tail.drain)
                nursery.start_soon(self._carry)
                nursery.start_soon(self._watch)
                await self._over.wait()
                await self._stop()
                with trio.move_on_after(STDERR_TIMEOUT):
                    await self._tail.done.wait()
                nursery.cancel_scope.cancel()
        except BaseException:
            # An interrupt from the keyboard, which may come up in any of these tasks.
            self.close()
            raise
        finally:
            await self._release()
            self._bury()

    async def _carry(self) -> None:
        await self.wire.run()
        self._over.set()

    async def _watch(self) -> None:
        await self._process.wait()
        self.wire.expire()

    async def _stop(self) -> None:
        """Close its input, wait, terminate, wait, kill: the specification's order."""
        if self._closing:
            with trio.move_on_after(FLUSH):
                await self.wire.flush()
        await self._pipes[0].aclose()
        with trio.move_on_after(self._launch.close_timeout):
            await self._process.wait()
        await self._signal(signal.SIGTERM, self._launch.terminate_timeout)
        await self._signal(signal.SIGKILL, KILL_TIMEOUT)

    async def _signal(self, number: signal.Signals, wait: float) -> None:
        if self._process.returncode is not None:
            return
        self._stopped_by_us = True
        try:
            # Not yet reaped, so the group is still its own.
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):  # it has left its group
            with suppress(PermissionError):
                self._process.send_signal(number)
        with trio.move_on_after(wait):
            await self._process.wait()

    def _bury(self) -> None:
        self.last_words = self._launch.redact(self._tail.text)
        reason = f"{self._launch.name} {self._end()}"
        if not self._closing:
            logger.warning("%s", reason)
        self.wire.lose(reason, self.last_words)
        self.gone.set()

    def _end(self) -> str:
        status = self._process.returncode
        if self._closing:
            return "was closed"
        if self._stopped_by_us or status is None:
            return "closed its output without exiting, and was stopped"
        if status < 0:
            return f"was killed by {signal.Signals(-status).name}"
        return f"exited with status {status}"

    async def _release(self) -> None:
        with trio.CancelScope(shield=True):
            await self._signal(signal.SIGKILL, KILL_TIMEOUT)
            for pipe in self._pipes:
                await pipe.aclose()


_SHORT_OPTION: Final = re.compile(r"-\w{1,2}")


def label(command: Sequence[str]) -> str:
    """The command in a few words, without what may be a secret: the program and what it runs.

    Raises:
        UsageError: it is no sequence of words.
    """
    if isinstance(command, str | bytes) or not command:
        raise UsageError("A command is a sequence of words, such as [sys.executable, 'server.py']")
    words = [command[0]]
    for word in command[1:]:
        plain = not word.startswith("-") and len(word) <= 60 and "=" not in word
        if not plain and not _SHORT_OPTION.fullmatch(word):
            break
        words.append(word)
        if plain:
            break
    return " ".join(words)
