"""Links, sampling, roots and several questions together, as values."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from antiphon import (
    Consent,
    Form,
    Link,
    ListRoots,
    Root,
    Sample,
    Sampled,
    SamplingMessage,
    UsageError,
    all_of,
)
from antiphon.engine.jsonrpc import JsonObject, JsonValue
from antiphon.engine.outcomes import Answered
from antiphon.engine.questions import Given, Question, Refusal, lacking, merged
from tests.engine.test_json_door import JSON


@frozen
class Confirmed:
    sure: bool = False


LINK = Link("Please sign in.", "https://example.org/sign-in?id=7")
SAMPLE = Sample("What is the capital of France?")
ROOTS = ListRoots()
SAID: JsonObject = {
    "role": "assistant",
    "model": "m-1",
    "content": {"type": "text", "text": "Paris"},
    "stopReason": "endTurn",
}


# -- links ------------------------------------------------------------------------------------


def test_a_link_on_the_wire_has_the_mode_url_and_no_id() -> None:
    assert LINK.wire() == {
        "method": "elicitation/create",
        "params": {
            "mode": "url",
            "message": "Please sign in.",
            "url": "https://example.org/sign-in?id=7",
        },
    }


@pytest.mark.parametrize(
    "url", ["", "example.org", "/path", "//example.org/x", "https://", "javascript:alert(1)"]
)
def test_a_link_needs_an_absolute_url_for_a_browser(url: str) -> None:
    with pytest.raises(UsageError, match="absolute http or https URL"):
        Link("Please sign in.", url)


@pytest.mark.parametrize(
    "url", ["https://example.org", "http://[::1]:8/", "https://größe.example/"]
)
def test_a_url_stays_as_it_was_written(url: str) -> None:
    assert Link("Go", url).url == url


def test_accepting_a_link_is_consent_and_nothing_more() -> None:
    assert LINK.read({"action": "accept"}) == Given(Consent())
    assert LINK.read({"action": "accept", "content": {"x": 1}}) == Given(Consent())
    assert LINK.read({"action": "decline"}) == Refusal("declined")
    assert LINK.read({"action": "cancel", "content": None}) == Refusal("cancelled")
    assert LINK.read({}) is None


# -- sampling ---------------------------------------------------------------------------------


def test_a_sampling_request_says_no_more_than_was_asked() -> None:
    assert SAMPLE.wire() == {
        "method": "sampling/createMessage",
        "params": {
            "messages": [
                {
                    "role": "user",
                    "content": {"type": "text", "text": "What is the capital of France?"},
                }
            ],
            "maxTokens": 1000,
        },
    }


def test_a_sampling_request_says_all_that_was_asked() -> None:
    image: JsonObject = {"type": "image", "data": "", "mimeType": "image/png"}
    sample = Sample(
        [SamplingMessage("user", "Hello"), SamplingMessage("assistant", image)],
        max_tokens=5,
        system="Be brief.",
        temperature=0.0,
        stop=("\n",),
        preferences={"speedPriority": 1},
    )
    params: Any = sample.wire()["params"]
    assert [message["role"] for message in params.pop("messages")] == ["user", "assistant"]
    assert params == {
        "maxTokens": 5,
        "systemPrompt": "Be brief.",
        "temperature": 0.0,
        "stopSequences": ["\n"],
        "modelPreferences": {"speedPriority": 1},
    }


def test_sampling_needs_something_to_say() -> None:
    with pytest.raises(UsageError, match="at least one message"):
        Sample([])


def test_what_the_model_said_is_given() -> None:
    reading = SAMPLE.read({**SAID, "_meta": {}})
    assert reading == Given(Sampled("m-1", SAID["content"], "assistant", "endTurn"))  # type: ignore[arg-type]  # it is an object


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"type": "text", "text": "a"}, "a"),
        ([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}], "a\nb"),
        ({"type": "image", "data": "", "mimeType": "image/png"}, ""),
        (["stray", None], ""),
    ],
)
def test_the_text_of_what_was_said(content: Any, text: str) -> None:
    reading = SAMPLE.read({**SAID, "content": content})
    assert isinstance(reading, Given)
    assert reading.value.text == text


@pytest.mark.parametrize(
    "changed",
    [
        {"content": None},
        {"content": "Paris"},
        {"content": []},
        {"content": {}},
        {"model": None},
        {"model": 5},
        {"role": "system"},
        {"role": None},
    ],
)
def test_half_a_message_is_no_answer(changed: JsonObject) -> None:
    assert SAMPLE.read({**SAID, **changed}) is None
    (name,) = changed
    assert SAMPLE.read({k: v for k, v in SAID.items() if k != name}) is None


# -- roots ------------------------------------------------------------------------------------


def test_roots_are_asked_for_without_parameters() -> None:
    assert ROOTS.wire() == {"method": "roots/list"}


def test_roots_are_given() -> None:
    assert ROOTS.read({"roots": []}) == Given(())
    listed: list[JsonValue] = [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b", "name": 5}]
    assert ROOTS.read({"roots": listed}) == Given((Root("file:///a", "A"), Root("file:///b")))


@pytest.mark.parametrize("roots", [None, {}, "x", ["file:///a"], [{}], [{"uri": 5}], [None]])
def test_malformed_roots_are_no_answer(roots: JsonValue) -> None:
    assert ROOTS.read({"roots": roots}) is None
    assert ROOTS.read({}) is None


@pytest.mark.parametrize("question", [LINK, SAMPLE, ROOTS])
@given(st.dictionaries(st.sampled_from(["action", "content", "roots", "model", "role"]), JSON))
def test_no_response_breaks_a_reader(question: Any, response: JsonObject) -> None:
    question.read(response)


# -- together ---------------------------------------------------------------------------------


def test_questions_together_need_all_that_each_needs() -> None:
    together = all_of(Form("?", Confirmed), LINK, SAMPLE, ROOTS)
    assert together.needs == {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}


def test_all_of_takes_two_questions_or_more() -> None:
    for questions in ((), (LINK,)):
        with pytest.raises(UsageError, match="two questions or more"):
            all_of(*questions)


def test_two_questions_under_one_key_are_refused() -> None:
    with pytest.raises(UsageError, match="one key"):
        all_of(ListRoots(key="a"), Link("Go", "https://example.org", key="a"))


# -- capabilities -----------------------------------------------------------------------------

FORM: JsonObject = {"elicitation": {"form": {}}}
URL: JsonObject = {"elicitation": {"url": {}}}


@pytest.mark.parametrize(
    ("needs", "declared", "missing"),
    [
        (FORM, {}, FORM),
        (FORM, {"elicitation": {}}, {}),
        (FORM, {"elicitation": {"form": {}}}, {}),
        (FORM, {"elicitation": {"url": {}}}, FORM),
        (FORM, {"elicitation": None}, FORM),
        (FORM, {"elicitation": True}, FORM),
        (URL, {"elicitation": {}}, URL),
        (URL, {"elicitation": {"form": {}, "url": {}}}, {}),
        ({"sampling": {}}, {"sampling": {}}, {}),
        ({"sampling": {}}, {"sampling": {"tools": {}}}, {}),
        ({"sampling": {}}, {"roots": {}}, {"sampling": {}}),
        ({"roots": {}}, {"roots": {"listChanged": True}}, {}),
        (
            {"elicitation": {"form": {}, "url": {}}, "roots": {}},
            {"elicitation": {"form": {}}},
            {"elicitation": {"url": {}}, "roots": {}},
        ),
    ],
)
def test_what_a_client_lacks(needs: JsonObject, declared: JsonObject, missing: JsonObject) -> None:
    assert lacking(needs, declared) == missing


def test_needs_are_merged_member_by_member() -> None:
    assert merged([FORM, URL, {"roots": {}}, FORM]) == {
        "elicitation": {"form": {}, "url": {}},
        "roots": {},
    }
    assert FORM == {"elicitation": {"form": {}}}


# -- secrets ----------------------------------------------------------------------------------


def test_no_answer_shows_in_a_repr() -> None:
    for value in (Given("a secret"), Answered("a secret")):
        assert "a secret" not in repr(value)


def test_a_question_is_a_question() -> None:
    for question in (LINK, SAMPLE, ROOTS, all_of(LINK, ROOTS), Form("?", Confirmed)):
        assert isinstance(question, Question)
