"""One request of a carrier: open the token, run one round, seal what waits.

Specification: server/tools, server/prompts, server/resources, basic/patterns/mrtr.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

import trio
from attrs import define, field

from .bridged import BridgedExchange, sealer_for
from .call import Call
from .carrier import Carrier
from .content import with_meta
from .errors import (
    INVALID_PARAMS,
    MissingCapability,
    ProtocolError,
    ResourceNotFound,
    lone,
    told,
)
from .incoming import Incoming
from .jsonrpc import JsonObject, JsonValue, dumps
from .limits import raising
from .machine import Frozen
from .named_ends import not_askable
from .outcomes import Done, Failed
from .preanswers import Preanswers
from .protocol import COMPLETE, INPUT_REQUIRED, META_RETRY_MS
from .questions import lacking
from .round import Resumed, Round, Suspended
from .sealing import Claims, Origin, StateSealer
from .spans import CURRENT
from .unsealing import opened

if TYPE_CHECKING:
    from .server import ServerCore

_log = logging.getLogger("antiphon.server")


class Resumable(Protocol):
    """The parameters that a client adds when it comes back."""

    @property
    def input_responses(self) -> JsonObject | None:
        """The answers, by the keys of their questions."""
        ...

    @property
    def request_state(self) -> str | None:
        """The token, echoed."""
        ...


@define
class CarriedCall:
    """One request for a tool, a prompt or a resource, from its parameters to its result.

    Attributes:
        server: whose it is.
        carrier: what is asked for.
        target: its name, or the uri.
        given: the arguments, as they were sent or as the uri holds them.
        params: what the client brings back of earlier rounds.
        incoming: the request.
        claims: what the token says, once it is open.
        preanswers: what the arguments answer of questions that are still to come.
    """

    server: ServerCore
    carrier: Carrier
    target: str
    given: Mapping[str, JsonValue]
    params: Resumable
    incoming: Incoming
    claims: Claims | None = field(default=None, init=False)
    preanswers: Preanswers = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.preanswers = self.carrier.preanswers(self.given)

    async def serve(self) -> JsonObject:
        """The members of the result.

        Raises:
            ProtocolError: the request cannot be served as it is.
        """
        CURRENT.get().serve(self.carrier)
        self._bound()
        origin = self._origin()
        resumed = self._resume(origin)
        if missing := lacking(self.carrier.needs, self.incoming.meta.capabilities):
            raise MissingCapability(missing, not_askable(self.carrier.name, missing))
        try:
            arguments = self.carrier.arguments(self.given)
        except ValueError as error:
            text = f"Invalid arguments for {self.carrier.name}: {error}"
            return self._complete(self.carrier.invalid(text, self.target))
        call = self._call(arguments)
        CURRENT.get().begin(call.flow_id, call.round, self.claims.span if self.claims else b"")
        if call.round > self.server.limits.rounds:
            rounds = self.server.limits.rounds
            return self._failed(
                f"{self.carrier.name}: gave up after {rounds} rounds, which is limit rounds "
                f"{raising('rounds')}."
            )
        return await self._round(call, origin, resumed)

    async def _round(self, call: Call[Any], origin: Origin, resumed: Resumed | None) -> JsonObject:
        seconds = self.server.limits.handler_seconds
        patience = trio.CancelScope(deadline=trio.current_time() + seconds)
        message, failed = "", False
        try:
            with patience:
                round = Round(self.carrier.machine, call, self.server.limits, self.preanswers)
                outcome = await round.run(resumed, self.params.input_responses or {})
                if isinstance(outcome, Suspended):
                    return self._interim(outcome, call, origin)
                if not isinstance(outcome, Failed):
                    return self._done(outcome)
                message = outcome.message
        except (Exception, SystemExit) as error:  # noqa: BLE001  # a handler may raise anything
            message, failed = self._told(error, call), True
        if patience.cancelled_caught or (failed and patience.cancel_called):
            message = self._too_late(call)
        return self._failed(message)

    def _too_late(self, call: Call[Any]) -> str:
        extra = {"flow_id": call.flow_id, "round": call.round}
        noun, name, how = self.carrier.noun, self.carrier.name, raising("handler_seconds")
        _log.warning("%s %r passed limit handler_seconds %s", noun, name, how, extra=extra)
        return (
            f"{name} took longer than {self.server.limits.handler_seconds:g} seconds, which is "
            "limit handler_seconds of this server."
        )

    def _told(self, error: Exception | SystemExit, call: Call[Any]) -> str:
        """What a client reads of an exception; raises ProtocolError where a code says it."""
        if (text := told(error)) is not None:
            return text
        none = lone(error, ResourceNotFound) if self.carrier.by_uri else None
        if none is not None:
            raise none.answer(self.target) from None
        extra = {"flow_id": call.flow_id, "round": call.round}
        noun, name = self.carrier.noun, self.carrier.name
        _log.error("%s %r failed in round %d", noun, name, call.round, extra=extra, exc_info=error)
        if self.server.reveal_errors:
            return f"{name} failed: {type(error).__name__}: {error}"
        return f"{name} failed because of an error in the server. It has been logged."

    def _bound(self) -> None:
        """Hold the parameters to the limits, and say which one is passed."""
        limits = self.server.limits
        # Unknown keys are ignored, so a client may send some; it may not send a flood.
        most = 4 * limits.questions
        if len(self.params.input_responses or {}) > most:
            raise ProtocolError(
                INVALID_PARAMS,
                f"Invalid params: more than {most} answers, which is four times limit questions "
                + raising("questions"),
            )
        size = len(dumps(cast(JsonObject, self.given)))
        if size > limits.arguments_bytes:
            raise ProtocolError(
                INVALID_PARAMS,
                f"Invalid params: the arguments have {size} bytes; limit arguments_bytes is "
                f"{limits.arguments_bytes} {raising('arguments_bytes')}",
            )

    # -- the token ----------------------------------------------------------------------------

    def _origin(self) -> Origin:
        return Origin(
            self.carrier.method,
            self.target,
            dict(self.given),
            self.server.bind_principal(self.incoming.exchange),
        )

    @property
    def _sealer(self) -> StateSealer:
        return sealer_for(self.incoming.exchange, self.server.sealer)

    def _resume(self, origin: Origin) -> Resumed | None:
        token = self.params.request_state
        if token is None:
            return None
        return opened(self._sealer, token, origin, self._restored)

    def _restored(self, claims: Claims) -> Resumed:
        self.claims = claims
        self.preanswers.spent.update(claims.spent)
        frozen = Frozen(claims.tag, claims.version, claims.state)
        state = self.carrier.machine.thaw(frozen)
        return Resumed(state, frozen, claims.questions, claims.kept, claims.asked, claims.unusable)

    def _call(self, arguments: object) -> Call[Any]:
        claims = self.claims
        return self.incoming.call(
            arguments,
            round=claims.round + 1 if claims else 1,
            flow_id=claims.flow_id if claims else secrets.token_urlsafe(12),
            # Arguments that answer beforehand count as answers of this request, too.
            input_responses={**self.preanswers.given, **(self.params.input_responses or {})},
        )

    def _interim(self, outcome: Suspended, call: Call[Any], origin: Origin) -> JsonObject:
        resume, exchange = outcome.resume, self.incoming.exchange
        if isinstance(exchange, BridgedExchange):
            exchange.timeouts.update(outcome.timeouts)
        claims = Claims(
            flow_id=call.flow_id,
            round=call.round,
            started=self.claims.started if self.claims else self.server.clock(),
            tag=resume.frozen.tag,
            version=resume.frozen.version,
            state=resume.frozen.data,
            questions=resume.questions,
            kept=resume.kept,
            asked=resume.asked,
            unusable=resume.unusable,
            span=CURRENT.get().mark,
            spent=tuple(sorted(self.preanswers.spent)),
        )
        result: JsonObject = {
            "resultType": INPUT_REQUIRED,
            "requestState": self._sealer.seal(origin, claims),
        }
        if outcome.requests:
            result["inputRequests"] = dict(outcome.requests)
        if outcome.progress is not None and outcome.progress.again_in is not None:
            result["_meta"] = {META_RETRY_MS: max(0, round(outcome.progress.again_in * 1000))}
        return result

    # -- the end ------------------------------------------------------------------------------

    def _done(self, done: Done[Any]) -> JsonObject:
        resumed = self.claims is not None or self.params.input_responses is not None
        result = self._complete(self.carrier.result(done, self.target, resumed=resumed))
        return with_meta(result, done.meta)

    def _failed(self, message: str) -> JsonObject:
        return self._complete(self.carrier.failure(message))

    def _complete(self, members: JsonObject) -> JsonObject:
        return {"resultType": COMPLETE, **members}
