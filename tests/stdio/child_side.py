"""A server as a child process, and how to ask it."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import pytest

from antiphon.engine.exchange import ClientTransport, TransportLost
from antiphon.engine.jsonrpc import Success
from antiphon.transports.child import open_child
from tests.stdio.harness import (
    TINY,
    ignored,
    request,
)

SECRET = "s3cret-value-of-a-token"

tiny = partial(open_child, TINY, close_timeout=5.0)


async def result(transport: ClientTransport, method: str, id: int = 1, **params: Any) -> Any:
    reply = await transport.exchange(request(id, method, **params), ignored)
    assert isinstance(reply, Success)
    assert reply.id == id
    return reply.result


async def lost(
    transport: ClientTransport, method: str, id: int = 1, **params: Any
) -> TransportLost:
    with pytest.raises(TransportLost) as caught:
        await transport.exchange(request(id, method, **params), ignored)
    return caught.value


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
