"""Bearer token in, principal out, at every request anew."""

from __future__ import annotations

import logging
from typing import cast

import pytest
import trio

from antiphon.engine.exchange import Principal
from antiphon.engine.jsonrpc import write_message
from antiphon.transports.asgi import HttpApp, http_app
from antiphon.transports.authentication import Verifier
from tests.http_server.scripted import (
    Answer,
    ScriptedServer,
    Visit,
    call,
    head_of,
    post,
    post_body,
)

ALICE = Principal("app", "https://issuer.example", "alice")
BOB = Principal("app", "https://issuer.example", "bob")
SECRET = "eyJhbGciOiJub25lIn0.very-secret-payload.very-secret-signature"


async def known(token: str) -> Principal | None:
    await trio.lowlevel.checkpoint()
    return {"A": ALICE, "A-refreshed": ALICE, "B": BOB}.get(token)


async def ask(app: HttpApp, authorization: str | None) -> Answer:
    return await post(app, call(), authorization=authorization)


async def test_each_request_is_sent_by_whom_its_own_token_names() -> None:
    server = ScriptedServer()
    app = http_app(server, authenticate=known)
    statuses = [
        (await ask(app, authorization)).status
        for authorization in ("Bearer A", "Bearer B", None, "Bearer A-refreshed", "Bearer old")
    ]
    assert statuses == [200, 200, 401, 200, 401]
    assert server.principals == [ALICE, BOB, ALICE]


async def test_token_that_ceases_to_be_valid_is_refused_at_once() -> None:
    valid = {"A"}

    async def verify(token: str) -> Principal | None:
        return ALICE if token in valid else None

    app = http_app(ScriptedServer(), authenticate=verify)
    assert (await ask(app, "Bearer A")).status == 200
    valid.clear()
    assert (await ask(app, "Bearer A")).status == 401


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "A",
        "Basic QTpC",
        "Bearer A B",
        "Bearer A, Bearer B",
        "Bearer =A",
        "Bearer A\u00e9",
        "BearerA",
        "Token A",
    ],
)
async def test_request_without_a_well_formed_token_is_challenged(authorization: str | None) -> None:
    server = ScriptedServer()
    answer = await ask(http_app(server, authenticate=known), authorization)
    assert answer.status == 401
    assert answer.headers[b"www-authenticate"] == b"Bearer"
    assert "id" not in answer.json
    assert server.requests == []


async def test_invalid_token_is_named_so() -> None:
    server = ScriptedServer()
    answer = await ask(http_app(server, authenticate=known), "Bearer C")
    assert answer.status == 401
    assert answer.headers[b"www-authenticate"] == b'Bearer error="invalid_token"'
    assert server.requests == []


@pytest.mark.parametrize("authorization", ["Bearer A", "bearer A", "BEARER  A"])
async def test_scheme_counts_in_any_case(authorization: str) -> None:
    assert (await ask(http_app(ScriptedServer(), authenticate=known), authorization)).status == 200


async def test_two_tokens_are_none() -> None:
    request = call()
    headers = head_of(request, authorization="Bearer A")
    headers.append((b"authorization", b"Bearer A"))
    app = http_app(ScriptedServer(), authenticate=known)
    assert (await post_body(app, write_message(request), headers)).status == 401


async def test_claims_of_the_request_itself_count_for_nothing() -> None:
    server = ScriptedServer()
    request = call()
    claims = {
        "principal": "alice",
        "io.modelcontextprotocol/clientInfo": {"name": "alice", "version": "1"},
    }
    cast("dict[str, object]", request.params["_meta"]).update(claims)
    app = http_app(server, authenticate=known)
    assert (await post(app, request, authorization=None)).status == 401
    assert (await post(app, request, authorization="Bearer B")).status == 200
    assert server.principals == [BOB]


async def test_nobody_is_anybody_where_nobody_is_asked() -> None:
    server = ScriptedServer()
    assert (await ask(http_app(server), "Bearer A")).status == 200
    assert server.principals == [None]


async def test_credentials_are_checked_before_the_body_is_read() -> None:
    waiting = Visit(head_of(call()), [], complete=False)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(waiting.run, http_app(ScriptedServer(), authenticate=known))
        await waiting.opened.wait()
        assert waiting.answer.status == 401
        assert waiting.taken == 0
        waiting.left.set()


async def test_foreign_page_is_refused_before_its_credentials_are_looked_at() -> None:
    asked: list[str] = []

    async def verify(token: str) -> Principal | None:
        asked.append(token)
        return ALICE

    app = http_app(ScriptedServer(), authenticate=verify)
    answer = await post(app, call(), authorization="Bearer A", origin="https://evil.example")
    assert answer.status == 403
    assert asked == []


async def failing(token: str) -> Principal | None:
    try:
        raise LookupError(f"the key of {token} is unknown")
    except LookupError as error:
        raise RuntimeError(f"cannot verify {token!r}") from error


async def failing_group(token: str) -> Principal | None:
    raise ExceptionGroup(f"{token}", [ValueError(token), failing_error(token)])


def failing_error(token: str) -> Exception:
    return OSError(f"{token} refused")


async def lost(token: str) -> Principal | None:
    raise ConnectionRefusedError(f"no issuer for {token}")


async def careless(token: str) -> Principal | None:
    return cast("Principal", True)


@pytest.mark.parametrize("verify", [failing, failing_group, lost, careless])
async def test_verifier_that_fails_lets_nobody_in_and_its_log_holds_no_token(
    verify: Verifier, caplog: pytest.LogCaptureFixture
) -> None:
    server = ScriptedServer()
    answer = await ask(http_app(server, authenticate=verify), f"Bearer {SECRET}")
    assert answer.status == 500
    assert server.requests == []
    (record,) = caplog.records
    assert record.name == "antiphon.http"
    assert record.levelno == logging.ERROR
    assert "authenticate=" in caplog.text
    for part in SECRET.split("."):
        assert part not in caplog.text
        assert part.encode() not in answer.body


async def test_log_of_a_failed_verifier_says_where_it_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    await ask(http_app(ScriptedServer(), authenticate=failing), "Bearer A")
    assert "RuntimeError" in caplog.text
    assert "in failing" in caplog.text


async def test_verifier_is_cancelled_with_its_server() -> None:
    async def stuck(token: str) -> Principal | None:
        await trio.sleep_forever()

    waiting = Visit(head_of(call(), authorization="Bearer A"))
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(waiting.run, http_app(ScriptedServer(), authenticate=stuck))
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
    assert not waiting.opened.is_set()
