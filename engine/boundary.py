"""The sealing boundary of a low-level server: plain state inside, sealed state outside.

Specification: basic/patterns/mrtr, "Server Requirements" 4 and 5.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from attrs import evolve, frozen

from .bridged import sealer_for
from .errors import INVALID_PARAMS, ProtocolError, UsageError
from .exchange import Exchange
from .incoming import Incoming
from .jsonrpc import JsonObject
from .protocol import INPUT_REQUIRED, TARGETS
from .sealing import Claims, Origin, Reason, StateSealer, TokenRefused
from .spans import CURRENT
from .unsealing import opened

_TAG: Final = "low level"


@frozen
class Boundary:
    """Seals what a handler puts into ``requestState``, and opens it before a handler reads it."""

    sealer: StateSealer
    bind_principal: Callable[[Exchange], str | None]
    clock: Callable[[], float]

    async def serve(
        self, request: Incoming, handler: Callable[[Incoming], Awaitable[JsonObject]]
    ) -> JsonObject:
        """Have a request handled behind the boundary; ``handler`` gives only allowed results."""
        origin = self._origin(request)
        claims = self._open(request, origin)
        flow_id = claims.flow_id if claims else secrets.token_urlsafe(12)
        number = claims.round + 1 if claims else 1
        CURRENT.get().begin(flow_id, number, claims.span if claims else b"")
        result = await handler(_with_state(request, claims))
        started = claims.started if claims else self.clock()
        sealer = sealer_for(request.exchange, self.sealer)
        return _sealed(sealer, result, origin, partial(_claims, flow_id, number, started))

    def _origin(self, request: Incoming) -> Origin:
        target = request.params.get(TARGETS[request.method])
        arguments = request.params.get("arguments")
        if not isinstance(target, str) or not isinstance(arguments, dict | None):
            raise ProtocolError(INVALID_PARAMS, "Invalid params: the target or the arguments")
        principal = self.bind_principal(request.exchange)
        return Origin(request.method, target, arguments or {}, principal)

    def _open(self, request: Incoming, origin: Origin) -> Claims | None:
        token = request.params.get("requestState")
        if token is None:
            return None
        if not isinstance(token, str):
            raise ProtocolError(INVALID_PARAMS, "Invalid params: requestState must be a string")
        return opened(sealer_for(request.exchange, self.sealer), token, origin, _own)


def _sealed(
    sealer: StateSealer, result: JsonObject, origin: Origin, claims_of: Callable[[str], Claims]
) -> JsonObject:
    if "requestState" not in result:
        return result
    if result["resultType"] != INPUT_REQUIRED:
        # It would leave in plain text.
        raise UsageError(
            f"The handler of {origin.method} gave a requestState with a result that is not "
            + INPUT_REQUIRED
        )
    state = str(result["requestState"])
    return {**result, "requestState": sealer.seal(origin, claims_of(state))}


def _own(claims: Claims) -> Claims:
    if claims.tag != _TAG:
        raise TokenRefused(Reason.STATE_TAG)
    return claims


def _claims(flow_id: str, number: int, started: float, state: str) -> Claims:
    return Claims(
        flow_id=flow_id,
        round=number,
        started=started,
        tag=_TAG,
        version=1,
        state=state.encode(),
        questions={},
        span=CURRENT.get().mark,
    )


def _with_state(request: Incoming, claims: Claims | None) -> Incoming:
    if claims is None:
        return request
    return evolve(request, params={**request.params, "requestState": claims.state.decode()})
