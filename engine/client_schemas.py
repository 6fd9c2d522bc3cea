"""What a client remembers of the results that tools promise, and the check of what they give.

Specification: server/tools, "Output Schema".
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final, cast

import attrs
import msgspec
from attrs import define, field

from .call_errors import quoted
from .client_carriers import Carrier
from .client_messages import CallToolResult, Tool
from .errors import CallError, InvalidReply, PeerError
from .jsonrpc import JsonObject, dumps
from .limits import Limits, raising
from .result_schemas import ResultSchema
from .schema_parts import Unusable

_BYTES: Final = 16 * 1024 * 1024
"""Bytes of schemas that are remembered, as JSON; those that were listed first make room."""

_OVERHEAD: Final = 200


class ResultInvalid(InvalidReply):
    """A tool gave something else than the ``outputSchema`` that it was listed with promises.

    It has run all the same. The text of this error names members of the result, and no value.

    Attributes:
        tool: its name.
        fault: what is wrong, in a phrase.
        result: what it gave.
    """

    def __init__(self, tool: str, fault: str, result: CallToolResult) -> None:
        self.tool = tool
        self.fault = fault
        self.result = result
        super().__init__(
            f"The result of tool {quoted(tool)} is not what its outputSchema promises: {fault} "
            "(check_results=False takes it as it is)"
        )


class SchemaUnusable(CallError, PeerError):
    """The ``outputSchema`` of a tool is one that no result can be held against; nothing was sent.

    Attributes:
        tool: its name.
        reason: why, in a phrase.
    """

    def __init__(self, tool: str, reason: str) -> None:
        self.tool = tool
        self.reason = reason
        super().__init__(
            f"Tool {quoted(tool)} was not called: its outputSchema cannot be used, since {reason} "
            "(check_results=False calls it, and takes its result as it is)"
        )


@define(eq=False)
class _Promise:
    """A schema as it was listed; compiled when its tool is first called."""

    text: bytes
    made: ResultSchema | Unusable | None = None

    def schema(self, limits: Limits) -> ResultSchema:
        """The compiled schema.

        Raises:
            Unusable: there is none.
        """
        if self.made is None:
            self.made = _made(self.text, limits)
        if isinstance(self.made, Unusable):
            raise Unusable(str(self.made))
        return self.made


def _made(text: bytes, limits: Limits) -> ResultSchema | Unusable:
    if len(text) > limits.schema_bytes:
        reason = f"it has {len(text)} bytes, and limit schema_bytes is {limits.schema_bytes} "
        return Unusable(reason + raising("schema_bytes"))
    try:
        return ResultSchema(cast(JsonObject, msgspec.json.decode(text)))
    except Unusable as unusable:
        return unusable


@define(eq=False)
class OutputSchemas:
    """The output schemas of the tools that were listed last.

    Attributes:
        cleared: goes up with each time that all were forgotten.
    """

    limits: Limits
    bound: int = _BYTES
    cleared: int = field(init=False, default=0)
    _known: OrderedDict[str, _Promise] = field(init=False, factory=OrderedDict[str, _Promise])
    _bytes: int = field(init=False, default=0)

    def learn(self, tools: Iterable[Tool]) -> None:
        """Remember what tools promise, as they are listed now."""
        for tool in tools:
            text = None if tool.output_schema is None else dumps(tool.output_schema)
            before = self._known.get(tool.name)
            if before is not None and before.text == text:
                self._known.move_to_end(tool.name)
                continue
            self._forget(tool.name)
            if text is not None:
                self._keep(tool.name, _Promise(text))

    def clear(self) -> None:
        """Forget all: the tools are not what they were."""
        self._known.clear()
        self._bytes = 0
        self.cleared += 1

    def checking(self, carrier: Carrier[CallToolResult], tool: str) -> Carrier[CallToolResult]:
        """The carrier of a call, with the result held against what the tool promises now.

        Raises:
            SchemaUnusable: nothing can be held against that.
        """
        promise = self._known.get(tool)
        if promise is None:
            return carrier
        try:
            schema = promise.schema(self.limits)
        except Unusable as unusable:
            raise SchemaUnusable(tool, str(unusable)) from None

        def read(result: JsonObject) -> CallToolResult:
            return _checked(carrier.read(result), tool, schema)

        return attrs.evolve(carrier, read=read)

    def _keep(self, name: str, promise: _Promise) -> None:
        self._known[name] = promise
        self._bytes += _weight(name, promise)
        while self._bytes > self.bound:
            self._forget(next(iter(self._known)))

    def _forget(self, name: str) -> None:
        if (promise := self._known.pop(name, None)) is not None:
            self._bytes -= _weight(name, promise)


def _weight(name: str, promise: _Promise) -> int:
    return len(name) + len(promise.text) + _OVERHEAD


def _checked(result: CallToolResult, tool: str, schema: ResultSchema) -> CallToolResult:
    if result.is_error:
        return result
    if not result.has_structured:
        raise ResultInvalid(tool, "structuredContent is missing", result)
    try:
        fault = schema.fault(result.structured)
    except Unusable as unusable:
        raise ResultInvalid(tool, str(unusable), result) from None
    if fault is not None:
        raise ResultInvalid(tool, fault, result)
    return result
