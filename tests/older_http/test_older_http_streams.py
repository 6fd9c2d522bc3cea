"""The stream of a session: what changes, told to a client that opened it by GET."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import trio
import trio.testing

from antiphon import LowLevelServer, Server
from antiphon.engine.closing import Closing
from antiphon.engine.jsonrpc import Request
from antiphon.transports.stopping import stoppable
from tests.http_server.scripted import Visit
from tests.older_http.visiting import Here, hosting, older_head, settled, tool
from tests.older_server.asking import make
from tests.older_server.peer import LATEST
from tests.wire import older

COMMENT = b": keep-alive\n\n"
CHANGED = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"


def watched() -> Server:
    server = make()

    @server.resource("file:///a")
    async def a() -> str:
        """A file."""
        return "a"

    return server


def heard(visit: Visit) -> list[Any]:
    for event in visit.answer.events:
        assert older.faults(None, event, LATEST) == []
    return [event["method"] for event in visit.answer.events]


async def watch(here: Here, method: str, guest: Any, uri: str = "file:///a") -> None:
    answer = await guest.send(Request(f"{method} {uri}", f"resources/{method}", {"uri": uri}))
    assert answer.json["result"] == {}


async def test_stream_opens_at_once_and_tells_what_changes() -> None:
    async with hosting(watched()) as here:
        guest, other = await here.guest(), await here.guest()
        stream, second = await guest.listen(), await other.listen()
        assert stream.answer.status == 200
        assert stream.answer.headers[b"content-type"] == b"text/event-stream"
        assert stream.answer.headers[b"x-accel-buffering"] == b"no"
        await watch(here, "subscribe", guest)
        here.server.tools_changed()
        here.server.resource_updated("file:///a")
        here.server.resource_updated("file:///b")
        await settled()
        assert heard(stream) == [CHANGED, UPDATED]
        assert heard(second) == [CHANGED]
        await watch(here, "unsubscribe", guest)
        here.server.resource_updated("file:///a")
        await settled()
        assert heard(stream) == [CHANGED, UPDATED]


async def test_what_changes_when_the_head_goes_out_is_told() -> None:
    async with hosting(watched()) as here:
        guest = await here.guest()

        async def change(event: Mapping[str, Any]) -> None:
            if event["type"] == "http.response.start":
                here.server.tools_changed()

        headers = older_head(**guest.headers(content_type=None))
        stream = Visit(headers, method="GET", on_send=change)
        here.nursery.start_soon(stream.run, here.app)
        await settled()
        assert heard(stream) == [CHANGED]


async def test_second_stream_is_refused_while_the_first_is_open() -> None:
    async with hosting(watched()) as here:
        guest = await here.guest()
        first = await guest.listen()
        assert (await guest.listen()).answer.status == 409
        here.server.tools_changed()
        await settled()
        assert heard(first) == [CHANGED]
        first.left.set()
        await settled()
        third = await guest.listen()
        assert third.answer.status == 200
        here.server.tools_changed()
        await settled()
        assert heard(third) == [CHANGED]


@pytest.mark.parametrize("accept", ["application/json", "text/html", "text/event-stream;q=0"])
async def test_stream_wants_a_client_that_takes_one(accept: str) -> None:
    async with hosting(watched()) as here:
        guest = await here.guest()
        assert (await guest.listen(accept=accept)).answer.status == 406
        assert (await guest.listen(accept="text/event-stream")).answer.status == 200


async def test_silent_stream_is_kept_alive(autojump_clock: trio.testing.MockClock) -> None:
    async with hosting(watched(), keepalive=15) as here:
        stream = await (await here.guest()).listen()
        await trio.sleep(46)
        assert stream.answer.chunks == [COMMENT] * 3


async def test_deleted_session_ends_its_stream() -> None:
    async with hosting(watched()) as here:
        guest, other = await here.guest(), await here.guest()
        stream, second = await guest.listen(), await other.listen()
        await guest.leave()
        await settled()
        assert stream.answer.ended
        assert not second.answer.ended


@pytest.mark.parametrize("how", ["shut_down", "stoppable"])
async def test_streams_end_when_all_is_closed(how: str) -> None:
    async with hosting(watched()) as here:
        guest, closing = await here.guest(), Closing()
        stream = Visit(older_head(**guest.headers(content_type=None)), method="GET")
        here.nursery.start_soon(stream.run, stoppable(here.app, closing))
        await settled()
        here.server.tools_changed()
        if how == "shut_down":
            here.app.shut_down()
        else:
            closing.close()
        await settled()
        assert heard(stream) == [CHANGED], "what had changed is told before"
        assert stream.answer.ended


async def test_stream_of_a_server_that_has_nothing_to_tell_stays_open() -> None:
    async with hosting(LowLevelServer("Quiet")) as here:
        stream = await (await here.guest()).listen()
        assert stream.answer.status == 200
        assert not stream.answer.ended
        here.app.shut_down()
        await settled()
        assert stream.answer.ended


async def test_questions_never_go_to_the_stream() -> None:
    async with hosting(watched()) as here:
        guest = await here.guest()
        stream = await guest.listen()
        visit = await guest.start(tool("greet"))
        assert len(visit.answer.events) == 1
        assert heard(stream) == []
