"""Every way of asking, for every revision, on every transport, with every kind of answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
import trio
import trio.testing
from attrs import frozen

from antiphon.engine.protocol import VERSION
from tests.eras.offered import SECONDS, Log, offer
from tests.eras.peers import ERAS, TRANSPORTS, Left, Message, Person, client
from tests.older_server.peer import ROOTS, accept, says


@frozen
class Case:
    """Something that is called.

    Attributes:
        method, params: the request.
        answers: the content of each form, by a word of its message.
        done: what is done in the world when everything is accepted.
        told: a part of what is told then.
    """

    method: str
    params: Message
    answers: dict[str, Message]
    done: list[str]
    told: str


def tool(name: str, /, **arguments: Any) -> Message:
    return {"name": name, "arguments": arguments}


CASES: Final = {
    "flow": Case(
        "tools/call",
        tool("provision", name="orders"),
        {"region": {"name": "prod"}, "production": {"sure": "yes"}},
        ["create orders in prod"],
        '"region":"prod"',
    ),
    "sampling and roots": Case(
        "tools/call",
        tool("review", diff="+ drop()"),
        {"Approve": {"decision": "reject", "remark": "no"}},
        [],
        '"decision":"reject"',
    ),
    "link": Case("tools/call", tool("sign_in"), {}, ["signed in"], "signed in"),
    "parameter": Case(
        "tools/call", tool("drop", table="t"), {"Drop": {"sure": "yes"}}, ["drop t"], "dropped"
    ),
    "by hand": Case(
        "tools/call",
        tool("rename", name="n"),
        {"Rename": {"sure": "yes"}},
        ["rename to n"],
        "renamed",
    ),
    "prompt": Case(
        "prompts/get", {"name": "write"}, {"what": {"topic": "x"}}, ["write about x"], "about x"
    ),
    "prompt's parameter": Case(
        "prompts/get", {"name": "poem"}, {"What": {"topic": "x"}}, ["poem about x"], "poem about x"
    ),
    "template": Case(
        "resources/read",
        {"uri": "note://new"},
        {"what": {"topic": "x"}},
        ["write about x"],
        "about x",
    ),
}


# -- people -----------------------------------------------------------------------------------


def accepting(case: Case) -> Person:
    def answer(question: Message) -> Message:
        if question["method"] == "roots/list":
            return ROOTS
        if question["method"] == "sampling/createMessage":
            return says("RISKY, it drops things")
        if question["params"].get("mode") == "url":
            return {"action": "accept"}
        message = question["params"]["message"]
        return accept(**next(c for word, c in case.answers.items() if word in message))

    return answer


def declining(_: Case) -> Person:
    return lambda _: {"action": "decline"}


def cancelling(_: Case) -> Person:
    return lambda _: {"action": "cancel"}


def muddled(case: Case) -> Person:
    """Forms are accepted with nothing that fits."""
    accept_all = accepting(case)

    def answer(question: Message) -> Message | None:
        form = "requestedSchema" in question.get("params", {})
        return {"action": "accept", "content": {"odd": 1}} if form else accept_all(question)

    return answer


def silent(_: Case) -> Person:
    return lambda _: None


def leaving(_: Case) -> Person:
    def answer(_: Message) -> Message:
        raise Left

    return answer


PEOPLE: Final[dict[str, Callable[[Case], Person]]] = {
    "accept": accepting,
    "decline": declining,
    "cancel": cancelling,
    "invalid": muddled,
}


# -- outcomes ---------------------------------------------------------------------------------


def told(reply: Message | None) -> object:
    """What a reply says, without what differs between revisions."""
    assert reply is not None
    if "error" in reply:
        return "error", reply["error"]["message"]
    result = reply["result"]
    names = ("isError", "content", "structuredContent", "messages", "contents")
    return {name: result[name] for name in names if name in result and result[name] is not False}


async def outcome(case: Case, era: str, transport: str, person: Person) -> tuple[object, list[str]]:
    log = Log()
    async with client(offer(log), era, transport) as peer:
        reply = await peer.call(case.method, case.params, person)
        await trio.testing.wait_all_tasks_blocked()
        assert peer.rest() == 0
    return told(reply), log.done


OTHERS: Final = [(era, over) for era in ERAS for over in TRANSPORTS][1:]
# Consent to a link has no content that could be of no use.
ANSWERED: Final = [(n, how) for n in CASES for how in PEOPLE if (n, how) != ("link", "invalid")]


@pytest.mark.parametrize(("era", "transport"), OTHERS)
@pytest.mark.parametrize(("name", "how"), ANSWERED)
async def test_the_outcome_is_the_same_for_all(
    name: str, era: str, transport: str, how: str, autojump_clock: trio.testing.MockClock
) -> None:
    case, person = CASES[name], PEOPLE[how](CASES[name])
    ours = await outcome(case, VERSION, "stdio", person)
    theirs = await outcome(case, era, transport, person)
    assert theirs == ours
    if how == "accept":
        assert ours[1] == case.done
        assert case.told in str(ours[0]).replace("'", '"')
    else:
        assert ours[1] == []


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ERAS[1:])
@pytest.mark.parametrize("name", CASES)
async def test_silence_counts_as_cancelled_when_its_time_is_over(
    name: str, era: str, transport: str, autojump_clock: trio.testing.MockClock
) -> None:
    case = CASES[name]
    started = trio.current_time()
    theirs = await outcome(case, era, transport, silent(case))
    assert SECONDS <= trio.current_time() - started < SECONDS + 1
    assert theirs == await outcome(case, VERSION, "stdio", cancelling(case))


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", CASES)
async def test_a_client_that_leaves_ends_its_call_at_once(
    name: str, era: str, transport: str, autojump_clock: trio.testing.MockClock
) -> None:
    case, log = CASES[name], Log()
    started = trio.current_time()
    async with client(offer(log), era, transport) as peer:
        reply = await peer.call(case.method, case.params, leaving(case))
        await trio.testing.wait_all_tasks_blocked()
        assert peer.rest() == 0
    assert reply is None or "error" in reply
    assert log.done == []
    assert trio.current_time() - started < 3


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ERAS)
async def test_polls_end_in_the_same_report(
    era: str, transport: str, autojump_clock: trio.testing.MockClock
) -> None:
    log = Log()
    async with client(offer(log), era, transport) as peer:
        params = tool("slow_report", title="Spring", pages=12)
        reply = await peer.call("tools/call", params, leaving(CASES["flow"]))
    assert reply is not None
    assert reply["result"]["structuredContent"] == {"title": "Spring", "pages": 12}
    assert trio.current_time() >= 1.2
