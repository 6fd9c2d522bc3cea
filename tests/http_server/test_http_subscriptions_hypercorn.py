"""Subscriptions on real sockets, behind hypercorn's trio worker, until it stops."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import trio

from antiphon.engine.closing import Closing
from antiphon.engine.jsonrpc import RequestId, Success, write_message
from antiphon.transports.asgi import http_app
from antiphon.transports.stopping import stoppable
from tests.engine.subscribing import (
    Watched,
    acknowledged,
    ended_gracefully,
    listen,
    tools_changed,
)
from tests.http_server.scripted import Answer, call, head_of
from tests.http_server.serving import RawClient, connected, hypercorn, serving

SOON = 20
"""Seconds; far more than anything here takes, and far less than the graceful timeout."""

PATIENT = ("-k", "trio", "--graceful-timeout", "1000")


@asynccontextmanager
async def subscribed(port: int, id: RequestId = 1) -> AsyncGenerator[tuple[RawClient, Answer]]:
    """A client with an open subscription, and what it has heard."""
    request, answer = listen(id), Answer()
    body = write_message(request)
    async with connected(port) as client:
        await client.send_head([*head_of(request), (b"content-length", b"%d" % len(body))])
        await client.send_body(body)
        await client.receive_chunk(answer)
        assert answer.messages == [acknowledged(id, toolsListChanged=True)]
        yield client, answer


async def ask(port: int) -> None:
    request = call("change")
    async with connected(port) as client:
        assert (await client.ask(request, head_of(request))).status == 200


async def hear_the_end(client: RawClient, answer: Answer, id: RequestId = 1) -> None:
    """The stream ends with the result, and then the connection does."""
    await hear_the_result(client, answer, id)
    assert await client.stream.receive_some() == b""


async def hear_the_result(client: RawClient, answer: Answer, id: RequestId = 1) -> None:
    while not answer.ended:
        await client.receive_event(answer)
    last = answer.messages[-1]
    assert isinstance(last, Success)
    assert ended_gracefully(last.result, id)


async def test_change_arrives_from_a_call_on_another_connection() -> None:
    server = Watched()
    async with serving(http_app(server)) as port:
        async with subscribed(port) as (client, answer):
            await ask(port)
            await client.receive_chunk(answer)
            assert answer.messages[-1] == tools_changed()
        await ask(port)


async def test_hypercorn_that_is_terminated_ends_subscriptions_and_exits_by_itself() -> None:
    async with hypercorn(*PATIENT, app="subscribed") as running, AsyncExitStack() as stack:
        await running.wait_for("Running on")
        ids = range(3)
        open = [await stack.enter_async_context(subscribed(running.port, id)) for id in ids]
        with trio.fail_after(SOON):
            running.process.terminate()
            for id, (client, answer) in zip(ids, open, strict=True):
                await hear_the_end(client, answer, id)
            said = await running.read_on()
    assert running.process.returncode == 0
    assert "Traceback" not in said
    assert "rror" not in said


async def test_hypercorn_without_subscribers_stops_as_ever() -> None:
    async with hypercorn(*PATIENT, app="subscribed") as running:
        await running.wait_for("Running on")
        async with subscribed(running.port):
            pass
        await ask(running.port)
        with trio.fail_after(SOON):
            running.process.terminate()
            said = await running.read_on()
    assert running.process.returncode == 0
    assert "Traceback" not in said


async def test_program_that_runs_hypercorn_itself_ends_subscriptions_by_a_call() -> None:
    app = http_app(Watched())
    with trio.fail_after(SOON):
        async with serving(app, patience=1000) as port, subscribed(port) as (client, answer):
            app.shut_down()
            await hear_the_result(client, answer)


async def test_program_that_serves_any_application_ends_subscriptions_by_its_closing() -> None:
    closing = Closing()
    app = stoppable(http_app(Watched()), closing)
    with trio.fail_after(SOON):
        async with serving(app, patience=1000) as port, subscribed(port) as (client, answer):
            closing.close()
            await hear_the_result(client, answer)
