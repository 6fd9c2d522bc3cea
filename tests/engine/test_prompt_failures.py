"""How a prompt fails, on the wire and in the log."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from antiphon import (
    Failed,
    Limits,
    ProtocolError,
    ResourceNotFound,
    ToolError,
)
from antiphon.engine.errors import INTERNAL_ERROR
from tests.engine.offering import get, get_error, message_text, offering
from tests.engine.peer import Peer
from tests.naming import shown


def failing(outcome: Callable[[], Awaitable[Any]], **options: Any) -> Peer:
    server = offering(**options)

    @server.prompt
    async def fails() -> Any:
        return await outcome()

    return Peer(server)


def raising(error: Exception) -> Callable[[], Awaitable[Any]]:
    async def outcome() -> Any:
        raise error

    return outcome


def giving(value: object) -> Callable[[], Awaitable[Any]]:
    async def outcome() -> object:
        return value

    return outcome


@pytest.mark.parametrize(
    "outcome",
    [
        raising(ToolError("Closed on Sundays.")),
        raising(ExceptionGroup("of a nursery", [ToolError("Closed on Sundays.")])),
        giving(Failed("Closed on Sundays.")),
    ],
)
async def test_the_authors_own_words_reach_the_client(
    outcome: Callable[[], Awaitable[Any]], caplog: pytest.LogCaptureFixture
) -> None:
    error = await get_error(failing(outcome), "fails")
    assert (error.code, error.message) == (INTERNAL_ERROR, "Closed on Sundays.")
    assert not caplog.records


async def test_words_that_no_json_can_say_are_replaced() -> None:
    error = await get_error(failing(raising(ToolError("no \ud800 file"))), "fails")
    assert (error.code, error.message) == (INTERNAL_ERROR, "no ? file")


@pytest.mark.parametrize(
    "outcome",
    [
        raising(ValueError("secret 1")),
        raising(ProtocolError(-32000, "secret 2")),
        raising(ResourceNotFound("secret 3")),
        raising(ExceptionGroup("both", [ToolError("secret 4"), ValueError("secret 5")])),
        giving(None),
        giving({"secret": 6}),
        giving(["text", 7]),
        giving("half \ud800 of a pair"),
    ],
    ids=shown,
)
async def test_what_is_not_expected_is_masked_and_logged(
    outcome: Callable[[], Awaitable[Any]], caplog: pytest.LogCaptureFixture
) -> None:
    error = await get_error(failing(outcome), "fails")
    assert error.code == INTERNAL_ERROR
    assert error.message == "fails failed because of an error in the server. It has been logged."
    assert error.data is None
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert "Prompt 'fails' failed in round 1" in record.getMessage()
    assert record.exc_info


async def test_an_error_is_shown_where_the_server_reveals_errors() -> None:
    error = await get_error(failing(raising(ValueError("why")), reveal_errors=True), "fails")
    assert error.message == "fails failed: ValueError: why"


async def test_a_prompt_that_takes_too_long_is_ended(autojump_clock: object) -> None:
    peer = failing(trio.sleep_forever, limits=Limits(handler_seconds=5))
    error = await get_error(peer, "fails")
    assert error.code == INTERNAL_ERROR
    assert "took longer than 5 seconds, which is limit handler_seconds" in error.message


async def test_after_a_failure_the_next_request_is_served() -> None:
    outcomes = iter([raising(ValueError()), giving("well")])
    peer = failing(lambda: next(outcomes)())
    await get_error(peer, "fails")
    assert message_text(await get(peer, "fails")) == "well"
