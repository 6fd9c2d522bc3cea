"""Listens to what a client of the official SDK hears, and holds it against the SDK's models.

The client itself checks results, and leniently; notifications that fail their model it drops with
a warning, and the data of errors it hands on as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

from attrs import define, field
from mcp.client._transport import TransportStreams
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    UNSUPPORTED_PROTOCOL_VERSION,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    MissingRequiredClientCapabilityErrorData,
    UnsupportedProtocolVersionErrorData,
)
from mcp_types.methods import (
    parse_server_notification,
    parse_server_request,
    serialize_server_result,
)
from pydantic import BaseModel

VERSION: Final = "2026-07-28"
EARLIER: Final = "2025-11-25"
Heard: TypeAlias = SessionMessage | Exception

_ERROR_DATA: Final[dict[int, type[BaseModel]]] = {
    MISSING_REQUIRED_CLIENT_CAPABILITY: MissingRequiredClientCapabilityErrorData,
    UNSUPPORTED_PROTOCOL_VERSION: UnsupportedProtocolVersionErrorData,
}


@define
class Tap:
    """A transport of the SDK with a listener in its middle.

    Attributes:
        methods: of each request that the client sent, by its id.
        heard: what came from the server, in order.
    """

    _transport: AbstractAsyncContextManager[TransportStreams]
    methods: dict[str | int, str] = field(factory=dict[str | int, str])
    heard: list[JSONRPCMessage] = field(factory=list[JSONRPCMessage])

    async def __aenter__(self) -> TransportStreams:
        receive, send = await self._transport.__aenter__()
        return _Listening(receive, self), _Speaking(send, self)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        return await self._transport.__aexit__(kind, error, traceback)

    def check(self) -> None:
        """Hold all that was heard against the models of the revision that is spoken."""
        version = EARLIER if "initialize" in self.methods.values() else VERSION
        for message in self.heard:
            if isinstance(message, JSONRPCError):
                _check_error(message.error)
            elif isinstance(message, JSONRPCNotification):
                parse_server_notification(message.method, version, message.params)
            elif isinstance(message, JSONRPCRequest):
                assert version == EARLIER, "servers send no requests"
                parse_server_request(message.method, version, message.params)
            else:
                _check_result(self.methods[message.id], message.result, version)


def _check_error(error: ErrorData) -> None:
    assert error.message
    if error.code in _ERROR_DATA:
        _ERROR_DATA[error.code].model_validate(error.data)


def _check_result(method: str, result: Mapping[str, Any], version: str) -> None:
    # The models drop what the revision does not know, and fill in nothing that is required.
    known = serialize_server_result(method, version, result)
    assert {name: known.get(name) for name in result} == dict(result)


class _End:
    """What both ends of the SDK's streams have in common."""

    async def aclose(self) -> None:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


@define
class _Listening(_End):
    _inner: ReadStream[Heard]
    _tap: Tap

    async def receive(self) -> Heard:
        return self._kept(await self._inner.receive())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Heard:
        return self._kept(await anext(self._inner))

    def _kept(self, item: Heard) -> Heard:
        assert isinstance(item, SessionMessage), f"what came was no message: {item!r}"
        self._tap.heard.append(item.message)
        return item

    async def aclose(self) -> None:
        await self._inner.aclose()


@define
class _Speaking(_End):
    _inner: WriteStream[SessionMessage]
    _tap: Tap

    async def send(self, item: SessionMessage, /) -> None:
        if isinstance(item.message, JSONRPCRequest):
            self._tap.methods[item.message.id] = item.message.method
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()
