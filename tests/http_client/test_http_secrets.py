"""Credentials reach the server, and no log, name, repr or error."""

from __future__ import annotations

import logging
import traceback
from base64 import b64encode

import pytest

from antiphon.engine.errors import AntiphonError
from antiphon.transports.http_client import open_http
from tests.http_client.scripted import (
    Ears,
    Handler,
    Peer,
    Received,
    answer,
    answering,
    event,
    request,
    serving,
    stream,
    success,
)

SECRETS = [
    "t0ken-one",
    "t0ken-one-and-more",
    "passw0rd",
    "s3cret/header",
    "qu3ry-value",
    "fr4gment",
]
SECRETS.append(b64encode(b"someone:passw0rd").decode())


def everything_said_back(received: Received) -> bytes:
    return "\n".join([received.line, *map(": ".join, received.headers.items())]).encode()


def html(status: int) -> Handler:
    return answering(
        lambda received: answer(everything_said_back(received), status=status, kind="text/html")
    )


async def garbage(peer: Peer) -> None:
    await peer.send(everything_said_back(await peer.request()) + b"\r\n\r\n")


async def leaving(peer: Peer) -> None:
    await peer.request()


async def odd_event(peer: Peer) -> None:
    received = await peer.request()
    method = received.headers["authorization"]
    call = f'{{"jsonrpc":"2.0","id":5,"method":"{method}"}}'.encode()
    await peer.send(stream(event(call), event(success(received.id))))


def odd_headers(received: Received) -> bytes:
    secret = received.headers["authorization"]
    return answer(b"", f"Content-Type: {secret}", f"Content-Encoding: {secret}", kind=None)


HANDLERS: dict[str, Handler] = {
    "a reply": answering(answer(success())),
    "an error page": html(500),
    "a refusal": html(401),
    "another media type": html(200),
    "garbage": garbage,
    "an odd event": odd_event,
    "odd headers": answering(odd_headers),
    "an end": leaving,
}


async def told_by(handler: Handler, user: str = "", **credentials: str) -> str:
    """All that a transport shows of itself while it talks to such a server."""
    told = ""
    async with serving(handler) as server:
        address = server.url.replace("//", f"//{user}") + "?key=qu3ry-value#fr4gment"
        headers = {"X-Key": "s3cret/header"}
        token = credentials.get("token")
        async with open_http(address, headers=headers, token=token) as transport:
            told += f"{transport} {transport!r} {transport.name}"
            try:
                await transport.exchange(request(), Ears())
            except AntiphonError as error:
                told += "".join(traceback.format_exception(error)) + repr(vars(error))
    return told


@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("basic", [True, False])
async def test_credentials_are_never_told(
    handler: str, basic: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    if basic:
        told = await told_by(HANDLERS[handler], user="someone:passw0rd@")
    else:
        told = await told_by(HANDLERS[handler], token="t0ken-one-and-more")
    told += caplog.text
    assert "127.0.0.1" in told
    assert not [secret for secret in SECRETS if secret in told]
    assert "someone" not in told


async def test_the_libraries_beneath_log_no_credentials(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    await told_by(HANDLERS["a reply"], token="t0ken-one")
    assert any(record.name.startswith("httpcore2") for record in caplog.records)
    assert not [secret for secret in SECRETS if secret in caplog.text]


async def test_an_address_that_is_unreachable_is_told_without_credentials() -> None:
    async with serving(answering(b"")) as server:
        address = server.url.replace("//", "//someone:passw0rd@") + "?key=qu3ry-value"
    async with open_http(address) as transport:
        with pytest.raises(AntiphonError) as caught:
            await transport.exchange(request(), Ears())
    told = "".join(traceback.format_exception(caught.value))
    assert server.url in told
    assert not [secret for secret in [*SECRETS, "someone"] if secret in told]
