"""The server's lifespan over HTTP: within ASGI's, or opened by the application that mounts it."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from antiphon import Server, UsageError
from antiphon.engine.jsonrpc import Request
from antiphon.transports.asgi import HttpApp, http_app
from tests.cases.lifespans import Life
from tests.engine.peer import members, meta
from tests.http_server.scripted import Answer, head_of, post, visit
from tests.http_server.serving import connected, serving

Event = dict[str, Any]


def using(name: str = "use") -> Request:
    return Request(1, "tools/call", {"name": name, "arguments": {}, "_meta": meta()})


def text(answer: Answer) -> str:
    result: Any = members(answer.json["result"])
    return str(result["content"][0]["text"])


class Ends:
    """ASGI's lifespan as a server drives it, from outside."""

    def __init__(self) -> None:
        self.sent: list[Event] = []
        self.started, self.stop = trio.Event(), trio.Event()
        self._received = 0

    async def receive(self) -> Event:
        self._received += 1
        if self._received == 1:
            return {"type": "lifespan.startup"}
        await self.stop.wait()
        return {"type": "lifespan.shutdown"}

    async def send(self, event: Event) -> None:
        self.sent.append(event)
        self.started.set()

    async def run(self, app: HttpApp) -> None:
        await app({"type": "lifespan"}, self.receive, self.send)

    @property
    def kinds(self) -> list[str]:
        return [str(event["type"]) for event in self.sent]


# -- within ASGI's ----------------------------------------------------------------------------


async def test_it_begins_and_ends_with_asgis() -> None:
    life, ends = Life(), Ends()
    app = http_app(life.server)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ends.run, app)
        await ends.started.wait()
        assert life.events == ["opened"]
        assert text(await post(app, using())) == "database 1"
        ends.stop.set()
    assert life.events == ["opened", "used", "closed"]
    assert ends.kinds == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


async def test_each_run_has_its_own() -> None:
    life = Life()
    app = http_app(life.server)
    for number in (1, 2):
        async with app.running():
            assert text(await post(app, using())) == f"database {number}"


async def test_a_start_that_fails_is_told_in_a_sentence(caplog: pytest.LogCaptureFixture) -> None:
    ends = Ends()
    app = http_app(Life(before=OSError("no database")).server)
    await ends.run(app)
    (failed,) = ends.sent
    assert failed["type"] == "lifespan.startup.failed"
    assert failed["message"] == "The lifespan of 'Living' failed: OSError: no database"
    assert "Traceback" in caplog.text
    assert (await post(app, using())).status == 500


async def test_an_end_that_fails_is_told_in_a_sentence(caplog: pytest.LogCaptureFixture) -> None:
    ends = Ends()
    ends.stop.set()
    await ends.run(http_app(Life(after=OSError("stuck")).server))
    assert ends.kinds == ["lifespan.startup.complete", "lifespan.shutdown.failed"]
    assert ends.sent[1]["message"].endswith("OSError: stuck")
    assert "Traceback" in caplog.text


async def test_cancellation_is_not_taken_for_a_failure() -> None:
    life, ends = Life(), Ends()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ends.run, http_app(life.server))
        await ends.started.wait()
        nursery.cancel_scope.cancel()
    assert ends.kinds == ["lifespan.startup.complete"]
    assert life.events == ["opened", "closed"]


async def test_hypercorn_holds_it_open() -> None:
    life = Life()
    request = using()
    async with serving(http_app(life.server)) as port, connected(port) as client:
        answer = await client.ask(request, head_of(request, host=f"127.0.0.1:{port}"))
        assert text(answer) == "database 1"
        assert life.events == ["opened", "used"]
    assert life.events == ["opened", "used", "closed"]


# -- where nobody passes ASGI's on ------------------------------------------------------------


async def test_without_it_a_request_is_refused_in_words_that_say_what_to_do(
    caplog: pytest.LogCaptureFixture,
) -> None:
    life = Life()
    answer = await post(http_app(life.server), using())
    assert (answer.status, answer.code) == (500, -32603)
    assert "async with app.running()" in answer.message
    assert "async with app.running()" in caplog.text
    assert life.events == []


async def test_after_its_end_requests_are_refused() -> None:
    app = http_app(Life().server)
    async with app.running():
        pass
    assert (await post(app, using())).status == 500


async def test_a_server_without_one_needs_nothing() -> None:
    server = Server("Plain")

    @server.tool
    async def use() -> str:
        return "used"

    app = http_app(server)
    assert text(await post(app, using())) == "used"
    async with app.running(), app.running():
        assert text(await post(app, using())) == "used"


async def test_the_application_that_mounts_it_opens_it() -> None:
    life = Life()
    app = http_app(life.server)
    async with app.running():
        assert text(await post(app, using())) == "database 1"
    assert life.events == ["opened", "used", "closed"]


async def test_it_runs_once_at_a_time() -> None:
    life = Life()
    app = http_app(life.server)
    async with app.running():
        with pytest.raises(UsageError, match="runs already"):
            async with app.running():
                raise AssertionError
        assert text(await post(app, using())) == "database 1"
    assert life.events == ["opened", "used", "closed"]


@pytest.mark.parametrize("cancelled", [False, True])
async def test_it_ends_after_the_calls(cancelled: bool) -> None:
    life = Life()
    app = http_app(life.server)
    lingering = visit(using("linger"))
    async with trio.open_nursery() as nursery, app.running():
        nursery.start_soon(lingering.run, app)
        await life.reached.wait()
        if cancelled:
            nursery.cancel_scope.cancel()
    assert life.events == ["opened", "ended", "closed"]
    if not cancelled:
        assert lingering.answer.status == 200
        assert "stopped before the call had ended" in lingering.answer.message
