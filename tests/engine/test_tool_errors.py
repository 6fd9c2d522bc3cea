"""What a handler raises: told to the model, or logged and masked."""

import logging
import traceback

import pytest
import trio
import trio.testing

from antiphon import (
    IllegalMove,
    ProtocolError,
    SealingError,
    Server,
    ToolError,
    UsageError,
    WorldError,
)
from antiphon.engine.errors import AntiphonError, PeerError
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import Request
from tests.engine.peer import Peer, accept, call_params, meta, told
from tests.engine.tools import Order, Shop, serving

MASKED = "order failed because of an error in the server. It has been logged."
SECRET = "the-password-of-the-database"


async def ordered(shop: Shop, **options: object) -> tuple[Peer, dict[str, object]]:
    """The result of an order whose last handler fails."""
    peer = serving(Order(shop), **options)
    first = await peer.call("order", {"item": "ink"})
    colour = {"choosing_colour": accept(name="an-answer-of-a-person")}
    second = await peer.call(
        "order", {"item": "ink"}, state=first["requestState"], responses=colour
    )
    sure = {"confirming": accept(sure="yes")}
    last = await peer.call("order", {"item": "ink"}, state=second["requestState"], responses=sure)
    return peer, last


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(SECRET),
        KeyError(SECRET),
        OSError(5, SECRET),
        trio.BrokenResourceError(SECRET),
        AntiphonError(SECRET),
        UsageError(SECRET),
        PeerError(SECRET),
        WorldError(SECRET),
        IllegalMove(SECRET),
        SealingError(SECRET),
        ExceptionGroup("several", [ValueError(SECRET), ToolError(SECRET)]),
        StopAsyncIteration(SECRET),
        TimeoutError(SECRET),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_an_unexpected_error_is_masked_and_logged_with_its_traceback(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    shop = Shop(fails=error)
    _, result = await ordered(shop)
    assert told(result) == MASKED
    assert set(result) == {"resultType", "content", "isError", "_meta"}
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("antiphon.server", logging.ERROR)
    assert record.getMessage() == "Tool 'order' failed in round 3"
    assert record.exc_info is not None
    assert record.exc_info[1] is error
    assert record.__dict__["flow_id"] == shop.calls[0].flow_id
    assert record.__dict__["round"] == 3


async def test_no_token_and_no_answer_reaches_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    peer, _ = await ordered(Shop(fails=RuntimeError("no")))
    first = await peer.call("order", {"item": "ink"})
    state = str(first["requestState"])
    await peer.refused("order", {"item": "pens"}, state=state)
    await peer.refused("order", {"item": "ink"}, state=state[:-1])
    logged = caplog.text + "".join(
        "".join(traceback.format_exception(record.exc_info[1]))
        for record in caplog.records
        if record.exc_info
    )
    assert "failed in round 3" in logged
    assert "an-answer-of-a-person" not in logged
    assert state[3:20] not in logged


async def test_an_error_is_shown_where_that_was_asked_for() -> None:
    _, result = await ordered(Shop(fails=KeyError("no such thing")), reveal_errors=True)
    assert told(result) == "order failed: KeyError: 'no such thing'"


@pytest.mark.parametrize(
    "error",
    [
        ToolError("Out of ink."),
        ExceptionGroup("nursery", [ToolError("Out of ink.")]),
        ExceptionGroup("outer", [ExceptionGroup("inner", [ToolError("Out of ink.")])]),
    ],
    ids=["plain", "from a nursery", "from a nursery in a nursery"],
)
async def test_the_text_of_a_tool_error_reaches_the_model(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    _, result = await ordered(Shop(fails=error))
    assert told(result) == "Out of ink."
    assert caplog.records == []


async def test_a_tool_error_with_half_a_surrogate_pair_still_arrives() -> None:
    _, result = await ordered(Shop(fails=ToolError("no file 'a\udcff'")))
    assert told(result) == "no file 'a?'"


async def test_a_call_may_be_taken_up_again_after_a_failure() -> None:
    shop = Shop(fails=RuntimeError("no"))
    peer = serving(Order(shop))
    first = await peer.call("order", {"item": "ink"})
    second = await peer.call(
        "order",
        {"item": "ink"},
        state=first["requestState"],
        responses={"choosing_colour": accept(name="red")},
    )
    sure = {"confirming": accept(sure="yes")}
    told(await peer.call("order", {"item": "ink"}, state=second["requestState"], responses=sure))
    assert shop.ordered == []
    shop.fails = None
    again = await peer.call("order", {"item": "ink"}, state=second["requestState"], responses=sure)
    assert again["structuredContent"] == {"item": "ink", "count": 1, "colour": "red"}


async def test_cancellation_is_never_swallowed() -> None:
    server = serving().server
    started = trio.Event()

    @server.tool
    async def wait() -> None:
        started.set()
        await trio.sleep_forever()

    request = Request(1, "tools/call", {"_meta": meta(), **call_params("wait", None, None, None)})
    returned: list[object] = []

    async def serve() -> None:
        returned.append(await server.handle(request, Exchange()))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        await started.wait()
        nursery.cancel_scope.cancel()
    assert returned == []


async def test_a_deadline_of_the_handlers_own_is_an_error_like_any_other(
    autojump_clock: trio.testing.MockClock,
) -> None:
    peer = serving()

    @peer.server.tool
    async def hurry() -> None:
        with trio.fail_after(5):
            await trio.sleep_forever()

    assert "has been logged" in told(await peer.call("hurry"))


async def test_a_protocol_error_of_a_handler_is_masked_like_any_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server("Errors")

    @server.tool
    async def broken() -> None:
        raise ProtocolError(-32000, "an upstream secret")

    result = await Peer(server).call("broken")
    assert result["isError"] is True
    assert "an upstream secret" not in str(result)
    assert "an upstream secret" in caplog.text
