"""From a target to a client."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Any

import httpx2
import pytest
import trio

from antiphon.engine.asked import FormRequest
from antiphon.engine.client import Client
from antiphon.engine.errors import UsageError
from antiphon.engine.exchange import Exchange, TransportLost
from antiphon.engine.jsonrpc import Failure, Reply, Request, Success
from antiphon.engine.limits import Limits
from antiphon.transports.connect import (
    ConnectOptions,
    connect_client,
    open_client,
    open_transport,
)
from tests.client.scripted import ScriptedTransport, accept_prod, asks, done


class Region:
    """A server that asks for a region once."""

    name = "region server"
    limits = Limits()

    async def handle(self, request: Request, exchange: Exchange) -> Reply:
        if request.method != "tools/call":
            return Failure(request.id, -32601, "Method not found")
        answers = request.params.get("inputResponses")
        return Success(request.id, asks() if answers is None else done(str(answers)))


CHILD = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    params = request["params"]
    if "inputResponses" in params:
        text = json.dumps(params["inputResponses"])
        result = {"resultType": "complete", "content": [{"type": "text", "text": text}]}
    else:
        form = {"type": "object", "properties": {"name": {"type": "string"}}}
        question = {"message": "Which?", "requestedSchema": form}
        asked = {"method": "elicitation/create", "params": question}
        result = {"resultType": "input_required", "inputRequests": {"region": asked}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


async def test_a_server_object_is_a_target() -> None:
    async with open_client(Region(), elicitation=accept_prod) as client:
        assert client.name == "region server"
        assert "prod" in (await client.call_tool("t")).text


async def test_a_transport_is_a_target() -> None:
    async with open_client(ScriptedTransport([done("hello")])) as client:
        assert (await client.call_tool("t")).text == "hello"


async def test_a_command_is_a_target() -> None:
    seen: list[FormRequest] = []

    async def person(question: Any) -> dict[str, str]:
        seen.append(question)
        return {"name": "prod"}

    async with open_client([sys.executable, "-c", CHILD], elicitation=person) as client:
        assert "prod" in (await client.call_tool("t")).text
    assert seen[0].message == "Which?"


async def test_a_command_in_one_text_is_split_as_a_shell_would() -> None:
    import shlex

    command = shlex.join([sys.executable, "-c", CHILD])
    async with open_client(command, elicitation=accept_prod) as client:
        assert "prod" in (await client.call_tool("t")).text


async def test_a_program_that_is_not_there_is_told() -> None:
    with pytest.raises(TransportLost) as caught:
        async with open_client(["/nonexistent/program"]):
            raise AssertionError
    assert caught.value.sent is False


async def test_a_url_is_a_target() -> None:
    async with open_client(
        "http://127.0.0.1:1/mcp", headers={"X-Team": "a"}, token="t" * 20
    ) as client:
        assert "127.0.0.1" in client.name


async def test_a_client_of_httpx2_sends_what_goes_to_a_url() -> None:
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        body = json.loads(request.content)
        reply = {"jsonrpc": "2.0", "id": body["id"], "result": done("hello")}
        return httpx2.Response(200, json=reply)

    async with (
        httpx2.AsyncClient(transport=httpx2.MockTransport(answer), headers={"X-Own": "1"}) as own,
        open_client("http://nowhere.invalid/mcp", client=own) as client,
    ):
        assert (await client.call_tool("t")).text == "hello"
    assert [request.headers["x-own"] for request in seen] == ["1"]


async def test_a_connection_takes_no_longer_than_it_may() -> None:
    async def silent(stream: trio.SocketStream) -> None:
        async for _ in stream:
            pass

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, silent, 0, host="127.0.0.1"))
        port = listener.socket.getsockname()[1]
        url = f"https://127.0.0.1:{port}/mcp"
        async with open_client(url, connect_timeout=0.05, retry=None) as client:
            with pytest.raises(TransportLost, match=r"connect_timeout, 0\.05 s"):
                await client.call_tool("t")
        nursery.cancel_scope.cancel()


async def test_a_child_is_given_the_time_to_end_that_it_may_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[dict[str, object]] = []

    def opened(words: list[str], **options: object) -> AbstractAsyncContextManager[object]:
        given.append(options)
        return nullcontext(ScriptedTransport([done()]))

    monkeypatch.setattr("antiphon.transports.child.open_child", opened)
    command = ["python", "server.py"]
    options: Any = {"close_timeout": 9.0, "terminate_timeout": 0.5}
    async with open_transport(command, mode="2026-07-28", **options) as transport:
        assert transport.name == "scripted"
    (passed,) = given
    assert passed.items() >= options.items()


@pytest.mark.parametrize(
    ("target", "options", "told"),
    [
        ("", {}, "at least one word"),
        ("   ", {}, "at least one word"),
        ([], {}, "at least one word"),
        (["python", 3], {}, "all of it text"),
        ("python 'unclosed", {}, "cannot be split"),
        ("ws://example.com", {}, "begins with http"),
        ("ftp://example.com/a b", {}, "begins with http"),
        (3, {}, "int is no target"),
        (None, {}, "NoneType is no target"),
        (object(), {}, "object is no target"),
        ("http://127.0.0.1:1/", {"env": {"A": "b"}}, "env means nothing for a URL"),
        ("http://127.0.0.1:1/", {"cwd": "/"}, "cwd means nothing for a URL"),
        ("http://127.0.0.1:1/", {"close_timeout": 1}, "close_timeout means nothing for a URL"),
        (["python"], {"token": "x"}, "token means nothing for a command"),
        (["python"], {"connect_timeout": 1}, "connect_timeout means nothing for a command"),
        (Region(), {"headers": {}}, "headers means nothing for a server object"),
        (ScriptedTransport(), {"env": {}}, "env means nothing for a transport"),
        (Region(), {"max_rounds": -1}, "max_rounds"),
    ],
)
async def test_a_target_or_option_that_does_not_fit_is_refused(
    target: Any, options: Any, told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        async with open_client(target, **options):
            raise AssertionError


async def test_options_are_checked_before_anything_is_started() -> None:
    with pytest.raises(UsageError, match="max_rounds"):
        async with open_client(["/nonexistent/program"], max_rounds=-1):
            raise AssertionError


async def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError):
        async with open_client(Region(), timeout=3):  # type: ignore[call-arg]
            raise AssertionError


async def test_what_the_block_raises_comes_out_in_no_group() -> None:
    for target in (Region(), [sys.executable, "-c", CHILD], "http://127.0.0.1:1/mcp"):
        with pytest.raises(LookupError, match="mine"):
            async with open_client(target):
                raise LookupError("mine")


async def test_after_the_block_the_client_takes_no_request() -> None:
    async with open_client(Region()) as client:
        pass
    with pytest.raises(UsageError, match="closed"):
        await client.call_tool("t")


async def test_a_client_can_live_in_a_nursery_of_the_caller() -> None:
    async with trio.open_nursery() as nursery:
        client = await connect_client(nursery, Region(), elicitation=accept_prod)
        assert "prod" in (await client.call_tool("t")).text
        await client.aclose()
        assert not nursery.child_tasks
        await client.aclose()
    with pytest.raises(UsageError, match="closed"):
        await client.call_tool("t")


async def test_a_child_in_a_nursery_is_gone_after_aclose() -> None:
    async with trio.open_nursery() as nursery:
        client = await connect_client(nursery, [sys.executable, "-c", CHILD])
        conversation = client.conversation("t")
        await conversation.advance()
        await client.aclose()
        assert not nursery.child_tasks


async def test_cancelling_the_nursery_closes_the_client() -> None:
    clients: list[Client] = []
    async with trio.open_nursery() as nursery:
        clients.append(await connect_client(nursery, [sys.executable, "-c", CHILD]))
        nursery.cancel_scope.cancel()
    with pytest.raises(UsageError, match="closed"):
        await clients[0].call_tool("t")


async def test_a_client_that_cannot_be_connected_leaves_the_nursery_alone() -> None:
    async with trio.open_nursery() as nursery:
        with pytest.raises(TransportLost):
            await connect_client(nursery, ["/nonexistent/program"])
        with pytest.raises(UsageError):
            await connect_client(nursery, "ws://example.com")
        assert not nursery.child_tasks


def test_the_options_of_a_target_do_not_collide_with_those_of_a_client() -> None:
    from antiphon.engine.client_options import ClientOptions
    from antiphon.transports.connect import ChildOptions, EraOptions, HttpOptions

    kinds = (ClientOptions, HttpOptions, ChildOptions, EraOptions)
    parts = [kind.__optional_keys__ for kind in kinds]
    assert sum(map(len, parts)) == len(ConnectOptions.__optional_keys__)
