"""What other clients got wrong about rounds, over memory, pipes, bodies and streams alike.

Kinds of failure that others had, over each carrier.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from antiphon.engine.asked import Accept, FormRequest, UrlRequest
from antiphon.engine.errors import InvalidReply
from antiphon.engine.jsonrpc import JsonObject
from tests.client.scripted import asks, done, form, link, poll
from tests.hostile.plays import CARRIERS, playing, says

pytestmark = pytest.mark.parametrize("carrier", CARRIERS)

META: Final[JsonObject] = {
    "io.modelcontextprotocol/serverInfo": {"name": "S", "version": "1"},
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
}


async def test_an_interim_result_stays_one_whatever_stands_beside_it(
    carrier: str, tmp_path: Path
) -> None:
    """A client took one with a ``_meta`` for a finished result."""
    interim: JsonObject = {"_meta": META, "content": [], "isError": False, "x": 1}
    interim |= dict(reversed(asks({"q": form()}, "s").items()))
    script = says("tools/call", interim, done("in the end"))
    async with playing(carrier, script, tmp_path) as (client, play):
        assert (await client.call_tool("t")).text == "in the end"
    assert play.requests[1]["params"]["requestState"] == "s"
    assert play.requests[1]["params"]["inputResponses"]["q"]["action"] == "accept"


async def test_an_answer_belongs_to_the_question_of_its_round(carrier: str, tmp_path: Path) -> None:
    """A state was taken for that of another question, when one was asked again."""
    script = says(
        "tools/call",
        asks({"a": form("first"), "b": form("second")}, "s1"),
        asks({"b": form("second, again")}, "s2"),
        done(),
    )
    words: list[str] = []

    async def answer(question: FormRequest | UrlRequest) -> dict[str, str]:
        words.append(question.message)
        return {"name": "prod" if "again" in question.message else "dev"}

    async with playing(carrier, script, tmp_path, elicitation=answer) as (client, play):
        await client.call_tool("t")
    first, second = (request["params"] for request in play.requests[1:])
    assert (first["requestState"], first["inputResponses"].keys()) == ("s1", {"a", "b"})
    assert second["requestState"] == "s2"
    assert second["inputResponses"] == {"b": {"action": "accept", "content": {"name": "prod"}}}
    assert sorted(words) == ["first", "second", "second, again"]


async def test_a_state_alone_is_waited_for(carrier: str, tmp_path: Path) -> None:
    """A client took an interim result without questions for a finished one."""
    script = says("tools/call", poll("s"), poll("s"), done("ready"))
    async with playing(carrier, script, tmp_path) as (client, play):
        assert (await client.call_tool("t")).text == "ready"
    for request in play.requests[1:]:
        assert request["params"]["requestState"] == "s"
        assert "inputResponses" not in request["params"]


async def test_a_result_of_an_unknown_type_is_an_error_at_once(
    carrier: str, tmp_path: Path
) -> None:
    """Clients hung, or dropped it."""
    script = says("tools/call", {"resultType": "task", "taskId": "1"}, done())
    async with playing(carrier, script, tmp_path) as (client, _):
        with pytest.raises(InvalidReply, match="a type that this client does not know"):
            await client.call_tool("t")
        await client.call_tool("t")


STATES: Final = (
    "a+b/c==",
    "with spaces and \n\t\\n escapes",
    '{"looks":"like JSON"}',
    "12345678901234567890",
    "null",
    " ends in spaces ",
    "🎼 名前 \u2028\u2029\x85\x0b\x0c\x1c",
    "x" * 64 * 1024,
    "",
)


async def test_a_state_comes_back_as_it_was_given(carrier: str, tmp_path: Path) -> None:
    """States were trimmed, cut, parsed, or sent to another call."""
    script = [entry for state in STATES for entry in says("tools/call", poll(state), done())]
    async with playing(carrier, script, tmp_path) as (client, play):
        for _ in STATES:
            await client.call_tool("t")
    given = [request["params"].get("requestState") for request in play.requests]
    assert given == [each for state in STATES for each in (None, state)]


_GENERATED: Final[Any] = {
    "type": "object",
    "title": "Answers",
    "description": "as generators of schemas write them",
    "additionalProperties": False,
    "$defs": {"Region": {"title": "Region", "enum": ["dev", "prod"], "type": "string"}},
    "properties": {
        "name": {"$ref": "#/$defs/Region"},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    },
    "required": ["name"],
}


async def test_questions_are_understood_as_other_servers_write_them(
    carrier: str, tmp_path: Path
) -> None:
    """Titles at the top, references, nulls; no mode, a mode, and no id for a link."""
    questions: JsonObject = {
        "generated": form(schema=_GENERATED),
        "no mode, but an address": form(url="https://example.com"),
        "a mode": form(mode="form"),
        "a link": link(),
    }
    seen: dict[str, str] = {}

    async def answer(question: FormRequest | UrlRequest) -> Accept:
        seen[question.key] = question.kind
        return Accept({"name": "dev"} if isinstance(question, FormRequest) else None)

    script = says("tools/call", asks(questions, "s"), done())
    async with playing(carrier, script, tmp_path, elicitation=answer) as (client, play):
        await client.call_tool("t")
    assert [seen[key] for key in questions] == ["form", "form", "form", "url"]
    assert play.requests[1]["params"]["inputResponses"]["a link"] == {"action": "accept"}


async def test_only_a_newline_ends_a_line(carrier: str, tmp_path: Path) -> None:
    """Messages were cut at every character that ends a line somewhere."""
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei\r\nj\rk"
    script = says("tools/call", done(text))
    async with playing(carrier, script, tmp_path) as (client, play):
        assert (await client.call_tool("t", {"text": text})).text == text
    assert play.requests[0]["params"]["arguments"] == {"text": text}
