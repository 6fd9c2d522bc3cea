"""``tools/call``: open the token, run one round, seal what waits.

Specification: server/tools, basic/patterns/mrtr.
"""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING, Any, cast

from attrs import define, field

from .call import Call
from .content import tool_error
from .errors import MissingCapability, ToolError
from .exchange import Exchange
from .jsonrpc import JsonObject
from .machine import End, Frozen, Resumed, Round, Suspended
from .outcomes import Failed
from .protocol import COMPLETE, INPUT_REQUIRED, META_RETRY_MS, CallToolParams, RequestMeta
from .registry import ToolEntry
from .sealing import Claims, Origin, TokenRefused

if TYPE_CHECKING:
    from .server import ServerCore

_log = logging.getLogger("antiphon.server")


def _for_model(error: BaseException) -> ToolError | None:
    """A handler's ToolError, also one that comes out of a nursery, alone in its group."""
    while isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        if len(group.exceptions) != 1:
            return None
        error = group.exceptions[0]
    return error if isinstance(error, ToolError) else None


@define
class ToolCall:
    """One request of ``tools/call``, from its parameters to its result."""

    server: ServerCore
    tool: ToolEntry
    params: CallToolParams
    meta: RequestMeta
    exchange: Exchange
    claims: Claims | None = field(default=None, init=False)

    async def serve(self) -> JsonObject:
        """The members of the result.

        Raises:
            ProtocolError: the request cannot be served as it is.
        """
        origin = self._origin()
        resumed = self._resume(origin)
        try:
            arguments = self.tool.arguments(self.params.arguments or {})
        except ValueError as error:
            text = f"Invalid arguments for {self.tool.name}: {error}"
            return {"resultType": COMPLETE, **tool_error(text)}
        call = self._call(arguments)
        if call.round > self.server.limits.rounds:
            text = f"{self.tool.name}: gave up after {self.server.limits.rounds} rounds."
            return {"resultType": COMPLETE, **tool_error(text)}
        return await self._round(call, origin, resumed)

    async def _round(self, call: Call[Any], origin: Origin, resumed: Resumed | None) -> JsonObject:
        try:
            outcome = await Round(self.tool.machine, call, self.server.limits).run(
                resumed, self.params.input_responses or {}
            )
            if isinstance(outcome, Suspended):
                return self._interim(outcome, call, origin)
            return {"resultType": COMPLETE, **self._ended(outcome)}
        except MissingCapability:
            raise
        except Exception as error:  # noqa: BLE001  # a handler may raise anything
            if (told := _for_model(error)) is not None:
                return {"resultType": COMPLETE, **tool_error(str(told))}
            extra = {"flow_id": call.flow_id, "round": call.round}
            _log.exception("Tool %r failed in round %d", self.tool.name, call.round, extra=extra)
            return {"resultType": COMPLETE, **tool_error(self._masked(error))}

    # -- the token ----------------------------------------------------------------------------

    def _origin(self) -> Origin:
        return Origin(
            "tools/call",
            self.tool.name,
            self.params.arguments or {},
            self.server.bind_principal(self.exchange),
        )

    def _resume(self, origin: Origin) -> Resumed | None:
        token = self.params.request_state
        if token is None:
            return None
        try:
            self.claims = claims = self.server.sealer.open(token, origin)
            frozen = Frozen(claims.tag, claims.version, claims.state)
            state = self.tool.machine.thaw(frozen)
        except TokenRefused as refusal:
            extra = {"flow_id": self.claims.flow_id if self.claims else refusal.flow_id}
            _log.warning("A call of %r: %s", self.tool.name, refusal, extra=extra)
            raise refusal.answer() from None
        return Resumed(state, frozen, claims.questions, claims.kept, claims.asked, claims.unusable)

    def _call(self, arguments: object) -> Call[Any]:
        claims = self.claims
        call: Call[Any] = Call(
            arguments,
            principal=self.exchange.principal,
            client=self.meta.client,
            capabilities=self.meta.capabilities,
            meta=self.meta.raw,
            round=claims.round + 1 if claims else 1,
            flow_id=claims.flow_id if claims else secrets.token_urlsafe(12),
            progress_token=self.meta.progress_token,
            notify=self.exchange.notify,
        )
        return call

    def _interim(self, outcome: Suspended, call: Call[Any], origin: Origin) -> JsonObject:
        resume = outcome.resume
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
        )
        result: JsonObject = {
            "resultType": INPUT_REQUIRED,
            "requestState": self.server.sealer.seal(origin, claims),
        }
        if outcome.requests:
            result["inputRequests"] = dict(outcome.requests)
        if outcome.progress is not None and outcome.progress.again_in is not None:
            result["_meta"] = {META_RETRY_MS: max(0, round(outcome.progress.again_in * 1000))}
        return result

    # -- the end ------------------------------------------------------------------------------

    def _ended(self, end: End) -> JsonObject:
        return tool_error(end.message) if isinstance(end, Failed) else self.tool.result(end.result)

    def _masked(self, error: Exception) -> str:
        if self.server.reveal_errors:
            return f"{self.tool.name} failed: {type(error).__name__}: {error}"
        return f"{self.tool.name} failed because of an error in the server. It has been logged."
