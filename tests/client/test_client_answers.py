"""Answers that do not fit their questions: our caller's mistake, and nothing is sent."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.engine.asked import Accept
from antiphon.engine.asked_deprecated import SamplingReply
from antiphon.engine.call_errors import AnswerInvalid
from antiphon.engine.deprecated_questions import Root
from antiphon.engine.errors import UsageError
from tests.client.scripted import ROOTS, asks, client_of, done, form, link, sampling

BAD_ANSWERS: dict[str, tuple[dict[str, Any], object]] = {
    "nothing": (form(), None),
    "text to a form": (form(), "prod"),
    "a required field missing": (form(), {}),
    "accepted without content": (form(), Accept()),
    "a value that is no choice": (form(), {"name": "SECRET"}),
    "a value of the wrong type": (form(), {"name": ["SECRET"]}),
    "a field that is not there": (form(), {"name": "dev", "more": "SECRET"}),
    "a value that is no JSON": (form(), {"name": object()}),
    "a value that is not finite": (
        form(schema={"type": "object", "properties": {"n": {"type": "number"}}}),
        {"n": float("nan")},
    ),
    "content for a link": (link(), {"code": "SECRET"}),
}


@pytest.mark.parametrize("what", BAD_ANSWERS)
async def test_an_answer_that_does_not_fit_is_our_callers_mistake(what: str) -> None:
    question, answer = BAD_ANSWERS[what]

    async def say(_: object) -> object:
        return answer

    client, server = client_of(asks({"q": question}, "s"), done(), elicitation=say)
    with pytest.raises(AnswerInvalid) as caught:
        await client.call_tool("t")
    assert isinstance(caught.value, UsageError)
    assert caught.value.key == "q"
    assert "SECRET" not in str(caught.value)
    assert caught.value.interim is not None
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "roots",
    [
        "file:///a",
        3,
        ["https://example.com"],
        ["/home/me"],
        [3],
        [Root("file:///a/../b")],
        [Root(3)],  # type: ignore[arg-type]
        [Root("file:///a", name=3)],  # type: ignore[arg-type]
        ["file:///\ud800"],
        ["file:///a/%2e%2e/b"],
        ["file:///a\\..\\b"],
    ],
)
async def test_a_root_is_a_file_uri_that_stays_where_it_says(roots: object) -> None:
    async def list_them(_: object) -> object:
        return roots

    client, server = client_of(asks({"q": ROOTS}), done(), roots=list_them)
    with pytest.raises(AnswerInvalid):
        await client.call_tool("t")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        None,
        3,
        {"role": "assistant"},
        SamplingReply(["text"]),  # type: ignore[list-item]
        SamplingReply("x", model=3),  # type: ignore[arg-type]
        SamplingReply("x", stop_reason=3),  # type: ignore[arg-type]
    ],
)
async def test_a_reply_of_a_model_is_text_or_a_reply(reply: object) -> None:
    async def sample(_: object) -> object:
        return reply

    client, _ = client_of(asks({"q": sampling()}), sampling=sample)
    with pytest.raises(AnswerInvalid):
        await client.call_tool("t")
