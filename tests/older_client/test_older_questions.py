"""What a server of an earlier revision asks during a call, as its client's callbacks meet it."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from antiphon import (
    Asked,
    Decline,
    FormRequest,
    Root,
    RoundsExceeded,
    SamplingReply,
    UrlRequest,
)
from antiphon.engine.answering import AuditEntry
from antiphon.engine.limits import Limits
from tests.older_client import older_server
from tests.older_client.older_server import (
    FORM,
    LINK,
    SAMPLE,
    OlderServer,
    ask_region,
    client_of,
    hello,
    region,
    text,
)

settled = trio.testing.wait_all_tasks_blocked
Request = older_server.Asked

LEGACY: Any = {"mode": "legacy"}


async def think(_: object) -> SamplingReply:
    return SamplingReply("Paris", model="m")


def asks(method: str, params: Any = None) -> older_server.Handler:
    """A tool that asks this, and says what it was answered."""

    async def tool(asked: Request) -> Any:
        reply = await asked.ask(method, params)
        return text(str(reply.get("result") or reply["error"]["code"]))

    return tool


async def test_a_form_is_answered_by_the_callback() -> None:
    seen: list[Any] = []

    async def person(question: Any) -> Any:
        seen.append(question)
        return {"name": "dev"}

    server = OlderServer({"tools/call": ask_region})
    async with client_of(server, **LEGACY, elicitation=person) as client:
        assert (await client.call_tool("t")).text == str(
            {"action": "accept", "content": {"name": "dev"}}
        )
    (question,) = seen
    assert isinstance(question, FormRequest)
    assert question.message == "Which region?"
    assert (question.origin.server, question.origin.target) == ("elder", "t")
    assert server.asked.count("tools/call") == 1


@pytest.mark.parametrize(
    ("method", "params", "options", "answer"),
    [
        ("elicitation/create", FORM, {"elicitation": region}, "'name': 'prod'"),
        (
            "elicitation/create",
            {name: value for name, value in FORM.items() if name != "mode"},
            {"elicitation": region},
            "'name': 'prod'",
        ),
        ("sampling/createMessage", SAMPLE, {"sampling": think}, "Paris"),
        ("roots/list", None, {"roots": [Root("file:///home")]}, "file:///home"),
        ("roots/list", {}, {"roots": []}, "{'roots': []}"),
    ],
    ids=["form", "form without a mode", "sampling", "roots", "no roots"],
)
@pytest.mark.parametrize("method_called", ["tools/call", "prompts/get", "resources/read"])
async def test_every_kind_is_asked_in_every_call_that_may_ask(
    method: str, params: Any, options: Any, answer: str, method_called: str
) -> None:
    replies: list[Any] = []

    async def serve(asked: Request) -> Any:
        replies.append(await asked.ask(method, params))
        return {**text("x"), "messages": [], "contents": []}

    server = OlderServer({method_called: serve})
    async with client_of(server, **LEGACY, **options) as client:
        if method_called == "tools/call":
            await client.call_tool("t")
        elif method_called == "prompts/get":
            await client.get_prompt("p")
        else:
            await client.read_resource("file:///a")
    assert answer in str(replies[0]["result"])


async def test_a_link_is_shown_and_its_id_is_no_business_of_the_callback() -> None:
    seen: list[Any] = []

    async def person(question: Any) -> Any:
        seen.append(question)
        return Decline()

    server = OlderServer({"tools/call": asks("elicitation/create", LINK)})
    async with client_of(server, **LEGACY, elicitation=person) as client:
        assert (await client.call_tool("t")).text == str({"action": "decline"})
    assert isinstance(seen[0], UrlRequest)
    assert seen[0].url == "https://example.com/pay"


async def test_questions_that_come_together_are_asked_together() -> None:
    open_at_once: list[int] = []
    running = 0

    async def person(question: FormRequest | UrlRequest) -> Any:
        nonlocal running
        running += 1
        await settled()
        open_at_once.append(running)
        running -= 1
        return {"name": "prod"}

    async def tool(asked: Request) -> Any:
        replies: list[Any] = []
        async with trio.open_nursery() as nursery:

            async def ask(id: str) -> None:
                replies.append(await asked.ask("elicitation/create", FORM, id=id))

            for number in range(3):
                nursery.start_soon(ask, f"q{number}")
        return text(str(len(replies)))

    entries: list[AuditEntry] = []
    server = OlderServer({"tools/call": tool})
    async with client_of(server, **LEGACY, elicitation=person, audit=entries.append) as client:
        assert (await client.call_tool("t")).text == "3"
    assert max(open_at_once) > 1
    assert [entry.outcome for entry in entries] == ["accept"] * 3
    assert sorted(answer["id"] for answer in server.answers) == ["q0", "q1", "q2"]


async def test_questions_one_after_another_are_rounds_of_one_conversation() -> None:
    async def tool(asked: Request) -> Any:
        for _ in range(3):
            await asked.ask("elicitation/create", FORM)
        return text("done")

    server = OlderServer({"tools/call": tool})
    async with client_of(server, **LEGACY, elicitation=region) as client:
        conversation = client.conversation("t")
        await conversation.run()
        assert conversation.tally.rounds == 3
        assert [entry.round for entry in conversation.trail] == [1, 2, 3]
    assert server.asked.count("tools/call") == 1


async def test_a_server_that_asks_without_end_is_stopped_and_told() -> None:
    async def tool(asked: Request) -> Any:
        while True:
            await asked.ask("elicitation/create", FORM)

    server = OlderServer({"tools/call": tool})
    async with client_of(server, **LEGACY, elicitation=region, max_rounds=4) as client:
        with pytest.raises(RoundsExceeded):
            await client.call_tool("t")
        await settled()
        assert len(server.cancelled) == 1
        assert server.ended[-1] == "tools/call"


async def test_rounds_by_hand_go_on_where_the_call_waits() -> None:
    server = OlderServer({"tools/call": ask_region})
    async with client_of(server, **LEGACY) as client:
        conversation = client.conversation("t")
        step = await conversation.advance()
        assert isinstance(step, Asked)
        ((key, question),) = step.questions.items()
        assert isinstance(question, FormRequest)
        result: Any = await conversation.advance({key: {"name": "dev"}})
        assert "'dev'" in result.text


# -- what is not taken --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("elicitation/create", FORM, -32602),
        ("elicitation/create", LINK, -32602),
        ("elicitation/create", {**FORM, "mode": "telepathy"}, -32602),
        ("sampling/createMessage", SAMPLE, -32602),
        ("sampling/createMessage", {**SAMPLE, "tools": []}, -32602),
        ("roots/list", None, -32602),
        ("tasks/list", {}, -32601),
        ("tools/call", {"name": "t"}, -32601),
    ],
    ids=["form", "link", "unknown mode", "sampling", "tools", "roots", "unknown", "ours"],
)
async def test_what_was_not_declared_is_refused_and_the_call_goes_on(
    method: str, params: Any, code: int
) -> None:
    server = OlderServer({"tools/call": asks(method, params)})
    async with client_of(server, **LEGACY) as client:
        assert (await client.call_tool("t")).text == str(code)


async def test_a_kind_that_one_call_does_not_take_is_refused_in_that_call() -> None:
    server = OlderServer({"tools/call": ask_region})
    async with client_of(server, **LEGACY, elicitation=region) as client:
        assert "prod" in (await client.call_tool("t")).text
        refusing: Any = client.conversation("t", kinds=["url"])
        assert "-32602" in (await refusing.run()).text


async def test_a_policy_of_the_client_keeps_a_kind_undeclared_and_unanswered() -> None:
    server = OlderServer({"tools/call": ask_region})
    async with client_of(server, **LEGACY, elicitation=region, refuse=["form"]) as client:
        assert "-32602" in (await client.call_tool("t")).text
    declared = server.params("initialize")[0]["capabilities"]
    assert declared == {"elicitation": {"url": {}}}


async def test_a_question_while_no_call_is_open_is_refused() -> None:
    server = OlderServer({"tools/call": hello})
    async with client_of(server, **LEGACY, elicitation=region) as client:
        await client.call_tool("t")
        reply = await server.ask("elicitation/create", FORM)
        assert reply["error"]["code"] == -32602


async def test_a_ping_is_answered_at_any_time() -> None:
    async def pinging(asked: Request) -> Any:
        return text(str(await asked.ask("ping")))

    server = OlderServer({"tools/call": pinging})
    async with client_of(server, **LEGACY) as client:
        assert "'result': {}" in (await client.call_tool("t")).text
        assert (await server.ask("ping", id=7)) == {"jsonrpc": "2.0", "id": 7, "result": {}}


async def test_a_malformed_question_ends_the_call_and_the_server_is_told() -> None:
    server = OlderServer({"tools/call": asks("elicitation/create", {"message": 3})})
    async with client_of(server, **LEGACY, elicitation=region) as client:
        with pytest.raises(Exception, match="malformed"):
            await client.call_tool("t")
        await settled()
        assert len(server.cancelled) == 1
        assert server.ended == ["initialize", "tools/call"]


async def test_more_questions_than_the_limit_are_refused() -> None:
    async def tool(asked: Request) -> Any:
        replies: list[Any] = []
        async with trio.open_nursery() as nursery:

            async def ask(id: str) -> None:
                replies.append(await asked.ask("elicitation/create", FORM, id=id))

            for number in range(5):
                nursery.start_soon(ask, f"q{number}")
        return text(str(sorted("error" in reply for reply in replies)))

    async def slow(_: object) -> Any:
        await settled()
        return {"name": "prod"}

    server = OlderServer({"tools/call": tool})
    limits = Limits(questions=3)
    async with client_of(server, **LEGACY, elicitation=slow, limits=limits) as client:
        assert (await client.call_tool("t")).text == str([False] * 3 + [True] * 2)


async def test_a_flood_of_requests_is_not_kept_and_hurts_nobody() -> None:
    async def flooding(asked: Request) -> Any:
        ping = {"jsonrpc": "2.0", "method": "ping"}
        await asked.server.say(*({**ping, "id": number} for number in range(2000)))
        return text("done")

    server = OlderServer({"tools/call": flooding})
    async with client_of(server, **LEGACY) as client:
        assert (await client.call_tool("t")).text == "done"
        assert (await client.call_tool("t")).text == "done"
    assert 0 < len(server.answers) < 4000


async def test_a_refused_question_leaves_a_trace_in_no_audit() -> None:
    entries: list[AuditEntry] = []
    server = OlderServer({"tools/call": asks("sampling/createMessage", SAMPLE)})
    async with client_of(server, **LEGACY, elicitation=region, audit=entries.append) as client:
        await client.call_tool("t")
    assert entries == []
