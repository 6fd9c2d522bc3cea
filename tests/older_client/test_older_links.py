"""Links that a server of an earlier revision wants opened before it serves a request: -32042."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest
import trio
import trio.testing

from antiphon import (
    Accept,
    Asked,
    Cancel,
    Decline,
    InvalidReply,
    PeopleTimeout,
    RoundsExceeded,
    ServerError,
    TransportLost,
    UrlRequest,
)
from antiphon.engine.answering import AuditEntry
from antiphon.engine.limits import Limits
from antiphon.engine.store import ConversationStore
from tests.older_client import older_server
from tests.older_client.older_server import (
    LINK,
    OlderServer,
    Refused,
    ask_region,
    client_of,
    text,
)

settled = trio.testing.wait_all_tasks_blocked
Request = older_server.Asked

LEGACY: Any = {"mode": "legacy"}
OTHER: Final[Any] = {**LINK, "url": "https://example.com/sign", "elicitationId": "e-2"}


def needs(*links: Any, times: int = 1) -> Callable[[Request], Awaitable[Any]]:
    """What refuses the first requests until links were opened, and then serves them."""

    async def serve(asked: Request) -> Any:
        if asked.server.asked.count(asked.message["method"]) <= times:
            raise Refused(-32042, "Sign in first", {"elicitations": [*links]})
        return {**text(f"served {asked.params.get('arguments')}"), "messages": [], "contents": []}

    return serve


async def agree(_: object) -> Any:
    return Accept()


async def test_a_link_is_asked_and_the_request_sent_again() -> None:
    seen: list[Any] = []
    entries: list[AuditEntry] = []

    async def person(question: Any) -> Any:
        seen.append(question)
        assert server.asked.count("tools/call") == 1
        return Accept()

    server = OlderServer({"tools/call": needs(LINK)})
    options: Any = {"elicitation": person, "audit": entries.append}
    async with client_of(server, **LEGACY, **options) as client:
        conversation: Any = client.conversation("t", {"a": 1}, meta={"com.example/x": 1})
        assert (await conversation.run()).text == "served {'a': 1}"
        assert (conversation.tally.rounds, conversation.tally.accepted) == (1, 1)
    (question,) = seen
    assert isinstance(question, UrlRequest)
    assert (question.url, question.message) == (LINK["url"], LINK["message"])
    assert (question.origin.server, question.origin.target) == ("elder", "t")
    assert [(entry.kind, entry.outcome) for entry in entries] == [("url", "accept")]
    first, second = server.params("tools/call")
    assert first["name"] == second["name"] == "t"
    assert second["_meta"]["com.example/x"] == 1
    assert not {"requestState", "inputResponses"} & {*second}
    ids = [m["id"] for m in server.heard if m.get("method") == "tools/call"]
    assert len({*ids}) == 2


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read"])
async def test_every_request_that_may_ask_is_sent_again(method: str) -> None:
    server = OlderServer({method: needs(LINK, OTHER, times=2)})
    async with client_of(server, **LEGACY, elicitation=agree) as client:
        if method == "tools/call":
            await client.call_tool("t")
        elif method == "prompts/get":
            await client.get_prompt("p")
        else:
            await client.read_resource("file:///a")
    assert server.asked.count(method) == 3


async def test_links_that_are_named_together_are_asked_together() -> None:
    together: list[int] = []
    running = 0

    async def person(question: UrlRequest) -> Any:
        nonlocal running
        running += 1
        await settled()
        together.append(running)
        running -= 1
        return Accept()

    async with client_of(
        OlderServer({"tools/call": needs(LINK, OTHER)}), **LEGACY, elicitation=person
    ) as client:
        assert (await client.call_tool("t")).text == "served {}"
    assert max(together) == 2


@pytest.mark.parametrize("answers", [[Decline()], [Cancel()], [Accept(), Decline()]])
async def test_what_is_not_agreed_to_ends_the_call_and_nothing_is_sent(answers: list[Any]) -> None:
    left = [*answers]

    async def person(_: object) -> Any:
        return left.pop()

    server = OlderServer({"tools/call": needs(*[LINK, OTHER][: len(answers)])})
    async with client_of(server, **LEGACY, elicitation=person) as client:
        with pytest.raises(ServerError, match="not agreed to") as caught:
            await client.call_tool("t")
    assert caught.value.code == -32042
    assert server.asked.count("tools/call") == 1


async def test_a_server_that_is_never_satisfied_is_not_asked_without_end() -> None:
    server = OlderServer({"tools/call": needs(LINK, times=1000)})
    async with client_of(server, **LEGACY, elicitation=agree, max_rounds=3) as client:
        with pytest.raises(RoundsExceeded):
            await client.call_tool("t")
    assert server.asked.count("tools/call") == 4


@pytest.mark.parametrize(
    "options",
    [{}, {"elicitation": agree, "refuse": ["url"]}],
    ids=["nothing declared", "links refused"],
)
async def test_who_did_not_declare_links_gets_the_error(options: Any) -> None:
    async with client_of(OlderServer({"tools/call": needs(LINK)}), **LEGACY, **options) as client:
        with pytest.raises(ServerError, match="Sign in first") as caught:
            await client.call_tool("t")
    assert (caught.value.code, caught.value.data) == (-32042, {"elicitations": [LINK]})


def without(name: str) -> Any:
    return {key: value for key, value in LINK.items() if key != name}


@pytest.mark.parametrize(
    ("code", "data"),
    [
        (-32042, None),
        (-32042, []),
        (-32042, {}),
        (-32042, {"elicitations": []}),
        (-32042, {"elicitations": LINK}),
        (-32042, {"elicitations": [LINK, 7]}),
        (-32042, {"elicitations": [without("mode")]}),
        (-32042, {"elicitations": [LINK, {**LINK, "mode": "form"}]}),
        (-32042, {"elicitations": [without("elicitationId")]}),
        (-32042, {"elicitations": [{**LINK, "elicitationId": 7}]}),
        (-32042, {"elicitations": [without("url")]}),
        (-32042, {"elicitations": [{**LINK, "url": "file:///etc/passwd"}]}),
        (-32042, {"elicitations": [{**LINK, "url": "https://a.example\\@b.example"}]}),
        (-32042, {"elicitations": [{**LINK, "message": None}]}),
        (-32043, {"elicitations": [LINK]}),
    ],
)
async def test_what_is_malformed_stays_an_error(code: int, data: Any) -> None:
    async def refuse(asked: Request) -> Any:
        raise Refused(code, "Sign in first", data)

    async with client_of(
        OlderServer({"tools/call": refuse}), **LEGACY, elicitation=agree
    ) as client:
        with pytest.raises(ServerError, match="Sign in first") as caught:
            await client.call_tool("t")
    assert (caught.value.code, caught.value.data) == (code, data)


async def test_a_request_that_may_not_ask_gets_the_error() -> None:
    server = OlderServer({"tools/list": needs(LINK)})
    async with client_of(server, **LEGACY, elicitation=agree) as client:
        with pytest.raises(ServerError, match="Sign in first"):
            await client.list_tools()


async def test_more_links_than_the_limit_are_asked_by_nobody() -> None:
    server = OlderServer({"tools/call": needs(*[LINK] * 4)})
    options: Any = {"elicitation": agree, "limits": Limits(questions=3)}
    async with client_of(server, **LEGACY, **options) as client:
        with pytest.raises(InvalidReply, match="limit questions is 3"):
            await client.call_tool("t")
    assert server.asked.count("tools/call") == 1


async def test_a_call_may_need_a_link_and_then_ask() -> None:
    async def tool(asked: Request) -> Any:
        if asked.server.asked.count("tools/call") == 1:
            raise Refused(-32042, "first", {"elicitations": [LINK]})
        return await ask_region(asked)

    async def person(question: Any) -> Any:
        return Accept() if isinstance(question, UrlRequest) else {"name": "prod"}

    async with client_of(OlderServer({"tools/call": tool}), **LEGACY, elicitation=person) as client:
        assert "'prod'" in (await client.call_tool("t")).text


async def test_a_call_may_ask_and_then_need_a_link() -> None:
    async def tool(asked: Request) -> Any:
        await ask_region(asked)
        if asked.server.asked.count("tools/call") == 1:
            raise Refused(-32042, "then", {"elicitations": [LINK]})
        return text("done")

    async def person(question: Any) -> Any:
        return Accept() if isinstance(question, UrlRequest) else {"name": "prod"}

    async with client_of(OlderServer({"tools/call": tool}), **LEGACY, elicitation=person) as client:
        conversation: Any = client.conversation("t")
        assert (await conversation.run()).text == "done"
        kinds = [entry.kind for entry in conversation.trail]
        assert kinds == ["form", "url", "form"]


async def test_nothing_waits_while_a_person_is_away(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def away(_: object) -> Any:
        await trio.sleep(10_000)
        return Accept()

    server = OlderServer({"tools/call": needs(LINK)})
    async with client_of(server, **LEGACY, elicitation=away) as client:
        assert (await client.call_tool("t")).text == "served {}"
    server = OlderServer({"tools/call": needs(LINK)})
    async with client_of(server, **LEGACY, elicitation=away, people_timeout=60) as client:
        with pytest.raises(PeopleTimeout):
            await client.call_tool("t")
    assert server.ended.count("tools/call") == 1
    assert server.cancelled == []


async def test_a_call_with_a_link_goes_on_over_another_connection() -> None:
    store = ConversationStore()
    async with client_of(OlderServer({"tools/call": needs(LINK)}), **LEGACY) as client:
        conversation = client.conversation("t", kinds=["url"])
        step = await conversation.advance()
        assert isinstance(step, Asked)
        assert [*step.questions] == ["link-1"]
        stored = await store.save(conversation)
        dumped = conversation.dump()
    server = OlderServer({"tools/call": needs(times=0)})
    async with client_of(server, elicitation=agree) as client:
        assert (await client.load(dumped).run()).text == "served {}"
        async with store.resume(stored, client) as resumed:
            result: Any = await resumed.run()
            assert result.text == "served {}"


async def test_a_connection_that_breaks_meanwhile_is_an_error_of_the_next_leg() -> None:
    server = OlderServer({"tools/call": needs(LINK)})

    async def person(_: object) -> Any:
        await server.hang_up()
        await settled()
        return Accept()

    async with client_of(server, **LEGACY, elicitation=person, retry=None) as client:
        with pytest.raises(TransportLost):
            await client.call_tool("t")


@pytest.mark.parametrize("during", [False, True], ids=["between calls", "during a call"])
async def test_the_news_of_a_completed_link_is_passed_over(
    during: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def tool(asked: Request) -> Any:
        if during:
            await asked.server.tell("elicitation/complete", elicitationId="e-1")
            await asked.server.tell("elicitation/complete", elicitationId=7)
        return await needs(LINK)(asked)

    heard: list[Any] = []
    server = OlderServer({"tools/call": tool})
    with caplog.at_level(logging.INFO, "antiphon"):
        async with client_of(server, **LEGACY, elicitation=agree, log=heard.append) as client:
            assert (await client.call_tool("t")).text == "served {}"
            await server.tell("elicitation/complete", elicitationId="e-1")
            assert (await client.call_tool("t")).text == "served {}"
    assert heard == []
    assert caplog.text == ""
