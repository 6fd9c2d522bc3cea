"""Prompts that take several rounds: as flows, and by hand."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import frozen

from antiphon import (
    Asking,
    Call,
    Done,
    Failed,
    Flow,
    Form,
    Given,
    InputRequired,
    Limits,
    Polling,
    Progress,
    PromptMessage,
    Refusal,
    Sample,
    Sampled,
    user,
)
from antiphon.engine.errors import INTERNAL_ERROR, INVALID_PARAMS, MISSING_CAPABILITY
from antiphon.engine.jsonrpc import JsonObject
from antiphon.engine.sealing import INVALID_STATE
from tests.engine.offering import (
    Essay,
    Sure,
    Tone,
    continued,
    error_of,
    get,
    get_error,
    message_text,
    offering,
)
from tests.engine.peer import CANCEL, DECLINE, EVERYTHING, Peer, accept, asked

CATS: JsonObject = {"animal": "cats"}
DRY: JsonObject = {"tone": accept(tone="dry")}
YES: JsonObject = {"sure": accept(sure=True)}
NO: JsonObject = {"sure": accept(sure=False)}


def writing(**options: Any) -> Peer:
    server = offering(**options)
    server.prompt(Essay())
    return Peer(server)


async def test_a_flow_is_listed_by_its_own_words() -> None:
    (prompt,) = (await writing().ask("prompts/list"))["prompts"]
    assert prompt == {
        "name": "essay",
        "description": "Write about an animal. Asks for a tone, and whether that is meant.",
        "arguments": [{"name": "animal", "required": True}],
    }


async def test_a_prompt_asks_over_as_many_rounds_as_it_takes() -> None:
    peer = writing()
    first = await get(peer, "essay", CATS)
    assert asked(first) == ["tone"]
    second = await get(peer, "essay", CATS, state=first["requestState"], responses=DRY)
    assert asked(second) == ["sure"]
    assert second["inputRequests"]["sure"]["params"]["message"] == "Really dry?"
    third = await get(peer, "essay", CATS, state=second["requestState"], responses=NO)
    assert asked(third) == ["tone"]
    fourth = await get(peer, "essay", CATS, state=third["requestState"], responses=DRY)
    last = await get(peer, "essay", CATS, state=fourth["requestState"], responses=YES)
    assert last["resultType"] == "complete"
    assert message_text(last) == "On cats, dry"


async def test_an_interim_result_holds_nothing_of_a_prompt() -> None:
    first = await get(writing(), "essay", CATS)
    assert first.keys() == {"resultType", "requestState", "inputRequests", "_meta"}


async def test_an_opening_request_may_answer_the_first_question() -> None:
    assert asked(await get(writing(), "essay", CATS, responses=DRY)) == ["sure"]


@pytest.mark.parametrize(
    ("response", "words"), [(DECLINE, "the user declined"), (CANCEL, "closed the question")]
)
async def test_a_refusal_ends_in_an_error_with_words_for_the_host(
    response: JsonObject, words: str
) -> None:
    peer = writing()
    first = await get(peer, "essay", CATS)
    back = continued(first["requestState"], {"tone": response})
    error = await error_of(peer, "prompts/get", {"name": "essay", "arguments": CATS, **back})
    assert error.code == INTERNAL_ERROR
    assert words in error.message


async def test_what_is_missing_is_asked_again() -> None:
    peer = writing()
    first = await get(peer, "essay", CATS)
    again = await get(peer, "essay", CATS, state=first["requestState"], responses={"other": {}})
    assert asked(again) == ["tone"]
    unusable: JsonObject = {"tone": accept(tone=5)}
    told = await get(peer, "essay", CATS, state=again["requestState"], responses=unusable)
    assert "cannot be used" in told["inputRequests"]["tone"]["params"]["message"]


async def test_a_client_that_cannot_be_asked_is_told_what_it_lacks() -> None:
    peer = writing()
    peer.capabilities = {"sampling": {}}
    error = await get_error(peer, "essay", CATS)
    assert error.code == MISSING_CAPABILITY
    assert error.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}


async def test_the_arguments_are_checked_in_every_round() -> None:
    peer = writing()
    first = await get(peer, "essay", CATS)
    back = continued(first["requestState"], DRY)
    for arguments in ({"animal": "dogs"}, {"animal": "cows"}, {}):
        params: JsonObject = {"name": "essay", "arguments": {**arguments}, **back}
        error = await error_of(peer, "prompts/get", params)
        assert (error.code, error.message) == (INVALID_PARAMS, INVALID_STATE)


async def test_rounds_are_bounded() -> None:
    peer = writing(limits=Limits(rounds=1))
    first = await get(peer, "essay", CATS)
    back = continued(first["requestState"], DRY)
    error = await error_of(peer, "prompts/get", {"name": "essay", "arguments": CATS, **back})
    assert error.code == INTERNAL_ERROR
    assert "gave up after 1 rounds, which is limit rounds" in error.message


# -- other kinds of rounds ------------------------------------------------------------------------


@frozen
class Nothing:
    pass


@frozen
class Reading(Polling):
    done: int = 0

    def progress(self) -> Progress:
        return Progress(self.done, 2, again_in=0.5)


@frozen
class AskingModel(Asking[Sampled]):
    def ask(self) -> Sample:
        return Sample("Sum it up.", 10, key="sum")


@frozen
class Summary(Flow[Nothing]):
    """Read a book, then have it summed up."""

    async def begin(self, args: Nothing) -> Reading:
        return Reading()

    @Reading.polled
    async def read(self, at: Reading) -> Reading | AskingModel:
        return Reading(at.done + 1) if at.done < 1 else AskingModel()

    @AskingModel.answered
    async def said(self, at: AskingModel, answer: Sampled) -> Done[list[PromptMessage]]:
        return Done([user("Sum it up."), PromptMessage("assistant", answer.text)])

    @AskingModel.refused
    async def silent(self, at: AskingModel) -> Failed:
        return Failed("Nobody summed it up.")


async def test_a_prompt_may_poll_and_ask_a_model() -> None:
    server = offering()
    server.prompt(Summary(), title="A summary")
    peer = Peer(server)
    result = await get(peer, "summary")
    for _ in range(2):
        assert asked(result) == []
        assert result["_meta"]["antiphon/retryAfterMs"] == 500
        result = await get(peer, "summary", state=result["requestState"])
    assert asked(result) == ["sum"]
    said: JsonObject = {
        "sum": {"role": "assistant", "content": {"type": "text", "text": "Short."}, "model": "m"}
    }
    last = await get(peer, "summary", state=result["requestState"], responses=said)
    assert [message["role"] for message in last["messages"]] == ["user", "assistant"]


# -- by hand --------------------------------------------------------------------------------------


def by_hand() -> Peer:
    server = offering()

    @server.prompt
    async def letter(to: str, call: Call[Any]) -> str | InputRequired | Failed:
        """Write a letter."""
        tone, sure = Form(f"Which tone, to {to}?", Tone), Form("Sure?", Sure)
        match call.answer("tone", tone), call.answer("sure", sure):
            case Given(answer), None:
                return InputRequired({"sure": sure}, state=answer.tone)
            case None, Given(answer) if answer.sure:
                return f"To {to}, {call.request_state}, in round {call.round}"
            case _, Refusal():
                return Failed("Not sure.")
            case _:
                return InputRequired({"tone": tone})

    return Peer(server)


async def test_a_function_asks_by_hand() -> None:
    peer = by_hand()
    to: JsonObject = {"to": "Ada"}
    first = await get(peer, "letter", to)
    assert asked(first) == ["tone"]
    second = await get(peer, "letter", to, state=first["requestState"], responses=DRY)
    assert asked(second) == ["sure"]
    last = await get(peer, "letter", to, state=second["requestState"], responses=YES)
    assert message_text(last) == "To Ada, dry, in round 3"
    back = continued(second["requestState"], {"sure": DECLINE})
    error = await error_of(peer, "prompts/get", {"name": "letter", "arguments": to, **back})
    assert (error.code, error.message) == (INTERNAL_ERROR, "Not sure.")


async def test_a_question_by_hand_is_not_put_to_a_client_that_cannot_be_asked() -> None:
    peer = by_hand()
    peer.capabilities = {name: need for name, need in EVERYTHING.items() if name != "elicitation"}
    error = await get_error(peer, "letter", {"to": "Ada"})
    assert error.code == MISSING_CAPABILITY
