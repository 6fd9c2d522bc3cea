"""The sealing boundary of a low-level server: plain state inside, sealed state outside.

Specification: basic/patterns/mrtr, "Server Requirements" 4 and 5.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from attrs import evolve, frozen

from .errors import INVALID_PARAMS, ProtocolError, UsageError
from .exchange import Exchange
from .incoming import Incoming, MethodHandler
from .jsonrpc import JsonObject
from .protocol import INPUT_REQUIRED
from .sealing import Claims, Origin, Reason, StateSealer, TokenRefused
from .spans import CURRENT

_log = logging.getLogger("antiphon.server")

TARGETS: Final[Mapping[str, str]] = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
}
"""The methods that may ask, and the parameter that says what is asked for."""

_TAG: Final = "low level"


@frozen
class Boundary:
    """Seals what a handler puts into ``requestState``, and opens it before a handler reads it."""

    sealer: StateSealer
    bind_principal: Callable[[Exchange], str | None]
    clock: Callable[[], float]

    def around(self, handler: MethodHandler) -> MethodHandler:
        """The handler, with the boundary around it."""

        async def bounded(request: Incoming) -> JsonObject:
            origin = self._origin(request)
            claims = self._open(request, origin)
            flow_id = claims.flow_id if claims else secrets.token_urlsafe(12)
            number = claims.round + 1 if claims else 1
            CURRENT.get().begin(flow_id, number, claims.span if claims else b"")
            result = await handler(_with_state(request, claims))
            started = claims.started if claims else self.clock()
            return self._sealed(result, origin, partial(_claims, flow_id, number, started))

        return bounded

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
        try:
            claims = self.sealer.open(token, origin)
            if claims.tag != _TAG:
                raise TokenRefused(Reason.STATE_TAG, flow_id=claims.flow_id)
        except TokenRefused as refusal:
            extra = {"flow_id": refusal.flow_id}
            _log.warning("A call of %r: %s", origin.target, refusal, extra=extra)
            raise refusal.answer() from None
        return claims

    def _sealed(
        self, result: JsonObject, origin: Origin, claims_of: Callable[[str], Claims]
    ) -> JsonObject:
        state = result.get("requestState")
        if result.get("resultType") != INPUT_REQUIRED or state is None:
            return result
        if not isinstance(state, str):
            raise UsageError(f"The handler of {origin.method} gave a requestState that is no text")
        return {**result, "requestState": self.sealer.seal(origin, claims_of(state))}


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
