"""What a handler may know of the request that it serves."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import trio
from attrs import define, field

from .checks import is_number, present, refuse, text_faults
from .errors import MissingCapability, UsageError
from .exchange import Principal
from .jsonrpc import JsonObject, JsonValue, Notification
from .outcomes import Event
from .protocol import LOG, LOG_LEVELS, PROGRESS, Implementation, LogLevel, is_at_least
from .questions import Reading, Single, lacking
from .schema import plain

A = TypeVar("A")
T = TypeVar("T")

if TYPE_CHECKING:
    # Type checkers bring these stubs along; Python itself knows defaults from 3.13 on.
    from typing_extensions import TypeVar as DefaultingTypeVar

    from .tracing import TraceContext

    Args_co = DefaultingTypeVar("Args_co", covariant=True, default=Any)
else:
    Args_co = TypeVar("Args_co", covariant=True)

_log = logging.getLogger("antiphon.call")


@define
class Call(Generic[Args_co]):
    """The request that a handler serves; give a handler a trailing ``call`` to receive it.

    ``Call[Arguments]`` types the arguments; for ``Call`` alone they may be anything.

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
        input_responses: the answers that came with this request, as they were sent, for a
            function that asks by hand; see :meth:`answer`. Arguments that answer beforehand
            are among them.
        request_state: what such a function left in ``InputRequired(state=...)``, or None.
        log_level: from which level on the client wants log messages; None for none at all.
    """

    args: Args_co
    principal: Principal | None = None
    client: Implementation | None = None
    capabilities: JsonObject = field(factory=dict[str, JsonValue])
    meta: JsonObject = field(factory=dict[str, JsonValue], repr=False)  # baggage is anybody's
    round: int = 1
    flow_id: str = ""
    event: Event | None = None
    input_responses: Mapping[str, JsonValue] = field(factory=dict[str, JsonValue], repr=False)
    request_state: Any = field(default=None, init=False, repr=False)  # what msgpack carried
    log_level: LogLevel | None = None
    _lifespan: object = field(default=None, repr=False, alias="lifespan")
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

    @property
    def trace(self) -> TraceContext:
        """The trace to which the client says that this request belongs."""
        from .tracing import TraceContext  # late: few read it, and a server starts without

        return TraceContext.of(self.meta)

    def answer(self, key: str, question: Single[A]) -> Reading[A]:
        """Read the answer to a question that is asked by hand, against its own schema.

        ``Given(value)``, ``Refusal``, ``Invalid``, or None where there is no answer yet. The
        client may answer what it was never asked: only what ``question`` itself allows is given.
        """
        response = self.input_responses.get(key)
        return question.read(response) if isinstance(response, dict) else None

    def lifespan(self, kind: type[T]) -> T:
        """What the server's lifespan gave, which must be a ``kind``.

        Raises:
            UsageError: it gave something else, or there is none.
        """
        if not isinstance(self._lifespan, kind):
            given = type(self._lifespan).__name__
            raise UsageError(f"The server's lifespan gave {given}, not {kind.__name__}")
        return self._lifespan

    def require(self, needs: JsonObject) -> None:
        """Refuse a client that has not declared ``needs``, such as ``{"sampling": {}}`` or
        ``{"extensions": {"com.example/name": {}}}``.

        Raises:
            MissingCapability: -32021, which tells the client what it lacks.
        """
        if missing := lacking(needs, self.capabilities):
            raise MissingCapability(missing, "This call needs what the client has not declared")

    async def message(self, level: LogLevel, data: object, *, logger: str | None = None) -> None:
        """Send a log message to the client, where it asked for messages of this level.

        Args:
            level: how severe it is.
            data: text, or anything that has a JSON form; no secret, nothing about a person.
            logger: which part of the program speaks.

        Raises:
            UsageError: there is no such level; ``data`` has no JSON form; ``logger`` is no text.
        """
        if level not in LOG_LEVELS:
            raise UsageError(f"There is no log level {level!r}; there are {', '.join(LOG_LEVELS)}")
        refuse("A log message", text_faults(**present(logger=logger)))
        if self.log_level is None or self._notify is None:
            return
        if not is_at_least(level, self.log_level):
            return
        params: JsonObject = {"level": level, "data": plain(data)}
        if logger is not None:
            params["logger"] = logger
        await self._notify(Notification(LOG, params))

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the client how far the work is, where it asked to know.

        A value that is no higher than the last one told is left out: progress only rises
        (specification, basic/patterns/progress).

        Raises:
            UsageError: a number is NaN, infinite, beyond what a float holds or no number at all,
                which no client could be told; the message is no text.
        """
        if not all(map(is_number, (done, 0 if total is None else total))):
            raise UsageError("Progress is told in finite numbers, as large as a float may be")
        refuse("Progress", text_faults(**present(message=message)))
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
        await self._notify(Notification(PROGRESS, params))
