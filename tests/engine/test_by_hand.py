"""Asking by hand: a function returns its questions and is called again with the answers."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import frozen

from antiphon import (
    Call,
    Failed,
    Form,
    Given,
    InputRequired,
    Invalid,
    Limits,
    Link,
    ListRoots,
    Sample,
    Server,
    UsageError,
    all_of,
)
from antiphon.engine.jsonrpc import JsonObject, JsonValue
from tests.engine.hands import NO, SURE, YES, Name, Sure, desk, lone_tool, peer_of
from tests.engine.peer import CANCEL, DECLINE, Peer, accept, asked, members, text_of, told
from tests.naming import shown

HAT: JsonObject = {"name": "hat"}


# -- rounds -----------------------------------------------------------------------------------


async def test_the_first_round_asks_and_the_second_is_answered() -> None:
    peer = peer_of(desk())
    first = await peer.call("rename", HAT)
    assert first["inputRequests"] == {"sure": SURE.wire()}
    last = await peer.call("rename", HAT, state=first["requestState"], responses=YES)
    assert (last["resultType"], text_of(last)) == ("complete", "hat yes")


async def test_each_round_calls_the_function_from_its_first_line_with_the_same_flow_id() -> None:
    made = desk()
    peer = peer_of(made)
    first = await peer.call("rename", HAT)
    await peer.call("rename", HAT, state=first["requestState"], responses=NO)
    opening, answered = made.calls
    assert (opening.round, answered.round) == (1, 2)
    assert opening.flow_id == answered.flow_id != ""
    assert answered.args.name == "hat"


async def test_an_opening_request_may_bring_the_answer() -> None:
    result = await peer_of(desk()).call("rename", HAT, responses=YES)
    assert text_of(result) == "hat yes"


async def test_the_output_schema_leaves_the_question_out() -> None:
    async def count(call: Call[Any]) -> Name | InputRequired:
        return Name("a") if call.round == 2 else InputRequired(state=1)

    async def say(call: Call[Any]) -> str | InputRequired:
        return "said"

    server = Server("Desk")
    server.tool(count)
    server.tool(say)
    counting, saying = (await Peer(server).ask("tools/list"))["tools"]
    assert counting["outputSchema"]["required"] == ["name"]
    assert "outputSchema" not in saying


async def test_a_result_after_rounds_is_held_to_the_output_schema() -> None:
    async def count(call: Call[Any]) -> Name | InputRequired:
        return InputRequired(state=1) if call.round == 1 else Name(5)  # type: ignore[arg-type]

    peer = lone_tool(count)
    first = await peer.call("count")
    assert "error in the server" in told(await peer.call("count", state=first["requestState"]))


# -- answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "text"), [(DECLINE, "hat declined"), (CANCEL, "hat cancelled")]
)
async def test_a_refusal_is_an_answer(response: JsonObject, text: str) -> None:
    result = await peer_of(desk()).call("rename", HAT, responses={"sure": response})
    assert text_of(result) == text


async def test_an_answer_that_fails_the_schema_is_told_without_its_value() -> None:
    answer = {"sure": accept(sure="perhaps")}
    result = await peer_of(desk()).call("rename", HAT, responses=answer)
    assert told(result).startswith("Of no use: ")
    assert "perhaps" not in text_of(result)


@pytest.mark.parametrize(
    "responses",
    [
        {},
        {"other": accept(sure="yes")},
        {"sure": None},
        {"sure": "yes"},
        {"sure": ["accept"]},
        {"sure": {}},
        {"sure": {"action": "agree"}},
        {"sure": {"sure": "yes"}},
    ],
    ids=shown,
)
async def test_what_is_no_answer_is_asked_again(responses: JsonObject) -> None:
    peer = peer_of(desk())
    first = await peer.call("rename", HAT)
    again = await peer.call("rename", HAT, state=first["requestState"], responses=responses)
    assert asked(again) == ["sure"]


async def test_null_is_no_answers() -> None:
    params: JsonObject = {"name": "rename", "arguments": HAT, "inputResponses": None}
    assert asked(await peer_of(desk()).ask("tools/call", params)) == ["sure"]


@pytest.mark.parametrize("responses", [[], "yes", 5, True, [["sure", "yes"]]], ids=shown)
async def test_answers_that_are_no_object_are_an_error(responses: JsonValue) -> None:
    refusal = await peer_of(desk()).refused("rename", HAT, responses=responses)
    assert refusal.code == -32602
    assert "inputResponses" in refusal.message


async def test_unknown_keys_are_ignored_up_to_a_flood() -> None:
    peer = peer_of(desk(limits=Limits(questions=2)))
    some: JsonObject = {f"k{i}": DECLINE for i in range(7)}
    assert text_of(await peer.call("rename", HAT, responses={**some, **YES})) == "hat yes"
    refusal = await peer.refused("rename", HAT, responses={**some, **YES, "one more": DECLINE})
    assert refusal.code == -32602
    assert "limit questions" in refusal.message


async def test_several_questions_of_every_kind_are_read_by_their_keys() -> None:
    name, link, sample, roots = (
        Form("Name?", Name),
        Link("Sign in.", "https://example.org"),
        Sample("Hello?"),
        ListRoots(),
    )

    async def all_kinds(call: Call[Any]) -> list[str] | InputRequired:
        match (
            call.answer("name", name),
            call.answer("link", link),
            call.answer("sample", sample),
            call.answer("roots", roots),
        ):
            case (Given(given), Given(), Given(said), Given(places)):
                return [given.name, said.text, *(root.uri for root in places)]
            case _:
                return InputRequired({"name": name, "link": link, "sample": sample, "roots": roots})

    peer = lone_tool(all_kinds)
    first = await peer.call("all_kinds")
    assert asked(first) == ["name", "link", "sample", "roots"]
    said: JsonObject = {"type": "text", "text": "hi"}
    responses: JsonObject = {
        "name": accept(name="Ada"),
        "link": {"action": "accept"},
        "sample": {"role": "assistant", "content": said, "model": "m"},
        "roots": {"roots": [{"uri": "file:///a"}]},
    }
    last = await peer.call("all_kinds", state=first["requestState"], responses=responses)
    assert last["structuredContent"] == ["Ada", "hi", "file:///a"]


async def test_an_answer_is_read_by_the_question_alone() -> None:
    # A client may answer another kind of question than the one that was asked.
    async def probe(call: Call[Any]) -> str:
        return repr([call.answer("a", SURE), call.answer("a", ListRoots())])

    result = await lone_tool(probe).call("probe", responses={"a": {"roots": []}})
    assert text_of(result) == "[None, Given()]"


async def test_answers_do_not_show_in_a_repr() -> None:
    made = desk()
    secret = {"sure": accept(sure="yes", note="geheim")}
    await peer_of(made).call("rename", HAT, responses=secret)
    (call,) = made.calls
    assert call.input_responses == secret
    assert "geheim" not in repr(call)
    assert "yes" not in repr(call.answer("sure", SURE))


# -- what cannot be asked ---------------------------------------------------------------------


@pytest.mark.parametrize("capabilities", [{}, {"sampling": {}}, {"elicitation": {"url": {}}}])
async def test_a_client_that_cannot_be_asked_is_told_what_it_lacks(
    capabilities: JsonObject,
) -> None:
    refusal = await peer_of(desk(), capabilities=capabilities).refused("rename", HAT)
    assert refusal.code == -32021
    assert refusal.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}


async def test_all_that_is_lacking_is_told_at_once() -> None:
    async def two(call: Call[Any]) -> str | InputRequired:
        return InputRequired({"a": SURE, "b": Sample("?"), "c": ListRoots()})

    peer = lone_tool(two)
    peer.capabilities = {"roots": {}}
    refusal = await peer.refused("two")
    needed: JsonObject = {"elicitation": {"form": {}}, "sampling": {}}
    assert members(refusal.data)["requiredCapabilities"] == needed


async def test_a_function_may_do_without_asking_such_a_client() -> None:
    async def careful(call: Call[Any]) -> str | InputRequired:
        if "elicitation" not in call.capabilities:
            return "done unasked"
        return InputRequired({"sure": SURE})

    peer = lone_tool(careful)
    peer.capabilities = {}
    assert text_of(await peer.call("careful")) == "done unasked"


async def test_more_questions_than_the_limit_are_the_authors_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def many() -> str | InputRequired:
        return InputRequired({f"q{i}": SURE for i in range(3)})

    result = await lone_tool(many, limits=Limits(questions=2)).call("many")
    assert "error in the server" in told(result)
    assert "3 questions in one round; limit questions is 2" in caplog.text


async def test_the_same_question_from_the_same_state_ends_after_some_times() -> None:
    async def deaf() -> str | InputRequired:
        return InputRequired({"sure": SURE}, state="same")

    peer = lone_tool(deaf, limits=Limits(repeats=3))
    result = await peer.call("deaf")
    for _ in range(2):
        assert asked(result) == ["sure"]
        result = await peer.call("deaf", state=result["requestState"], responses=YES)
    assert asked(result) == ["sure"]
    ended = await peer.call("deaf", state=result["requestState"], responses=YES)
    assert "the same question" in told(ended)
    assert "3 times" in text_of(ended)


@pytest.mark.parametrize("progress", ["state", "question"])
async def test_another_state_or_another_question_is_progress(progress: str) -> None:
    async def ask(call: Call[Any]) -> str | InputRequired:
        if call.round == 10:
            return "at last"
        number = call.round
        question = Form(f"Sure, {number}?", Sure) if progress == "question" else SURE
        return InputRequired({"sure": question}, state=number if progress == "state" else None)

    peer = lone_tool(ask, limits=Limits(repeats=1))
    result = await peer.call("ask")
    while "requestState" in result:
        result = await peer.call("ask", state=result["requestState"])
    assert text_of(result) == "at last"


async def test_rounds_have_an_end() -> None:
    async def endless() -> str | InputRequired:
        return InputRequired(state="not ready")

    peer = lone_tool(endless, limits=Limits(rounds=3))
    result = await peer.call("endless")
    for _ in range(2):
        assert asked(result) == []
        result = await peer.call("endless", state=result["requestState"])
    ended = await peer.call("endless", state=result["requestState"])
    assert "limit rounds" in told(ended)


async def test_a_function_may_fail_after_its_question() -> None:
    async def fickle(call: Call[Any]) -> InputRequired | Failed:
        return InputRequired({"sure": SURE}) if call.round == 1 else Failed("Changed my mind.")

    peer = lone_tool(fickle)
    first = await peer.call("fickle")
    last = await peer.call("fickle", state=first["requestState"], responses=YES)
    assert told(last) == "Changed my mind."


# -- what is no request for input -------------------------------------------------------------


def test_neither_questions_nor_state_is_refused() -> None:
    with pytest.raises(UsageError, match="neither questions nor state"):
        InputRequired()
    with pytest.raises(UsageError, match="neither questions nor state"):
        InputRequired({})


@pytest.mark.parametrize("state", [0, False, "", [], {}, b""])
def test_a_state_may_be_empty(state: object) -> None:
    assert InputRequired(state=state).state == state


@frozen
class Foreign:
    wire: str = "elicitation/create"


@pytest.mark.parametrize(
    "requests",
    [
        [SURE],
        {"a": {"method": "elicitation/create"}},
        {"a": "Sure?"},
        {"a": None},
        {"a": Foreign()},
        {5: SURE},
        {"a": all_of(SURE, SURE)},
        SURE,
        "sure",
    ],
    ids=shown,
)
def test_what_is_no_question_is_refused(requests: Any) -> None:
    with pytest.raises(UsageError, match="takes questions by key"):
        InputRequired(requests)


def test_a_state_does_not_show_in_a_repr() -> None:
    assert "geheim" not in repr(InputRequired(state="geheim"))


async def test_the_reason_of_an_invalid_answer_can_be_put_into_the_next_question() -> None:
    async def patient(call: Call[Any]) -> str | InputRequired:
        match call.answer("sure", SURE):
            case Given(answer):
                return answer.sure
            case Invalid(reason):
                return InputRequired({"sure": Form(f"Sure? ({reason})", Sure)})
            case _:
                return InputRequired({"sure": SURE})

    peer = lone_tool(patient)
    again = await peer.call("patient", responses={"sure": accept(sure="?")})
    assert again["inputRequests"]["sure"]["params"]["message"].startswith("Sure? (")
    last = await peer.call("patient", state=again["requestState"], responses=YES)
    assert text_of(last) == "yes"
