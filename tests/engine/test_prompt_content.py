"""How a result becomes the messages of a prompt."""

from typing import Any

import pytest

from antiphon import EmbeddedResource, Image, Text, UsageError
from antiphon.engine.display import Annotations
from antiphon.engine.jsonrpc import JsonObject
from antiphon.engine.prompt_content import PromptMessage, assistant, prompt_result, user
from tests.naming import shown

HELLO: JsonObject = {"role": "user", "content": {"type": "text", "text": "Hello"}}


@pytest.mark.parametrize(
    "value",
    [
        "Hello",
        Text("Hello"),
        user("Hello"),
        user(Text("Hello")),
        PromptMessage("user", "Hello"),
        ["Hello"],
        (Text("Hello"),),
        [user("Hello")],
    ],
    ids=shown,
)
def test_one_message_is_the_users(value: object) -> None:
    assert prompt_result(value) == {"messages": [HELLO]}


def test_messages_keep_their_order_and_their_speakers() -> None:
    embedded = EmbeddedResource("x:a", "text", "text/plain")
    result = prompt_result(["Hello", assistant("Well?"), embedded, assistant(Image(b"", "a/b"))])
    assert result == {
        "messages": [
            HELLO,
            {"role": "assistant", "content": {"type": "text", "text": "Well?"}},
            {"role": "user", "content": embedded.wire()},
            {"role": "assistant", "content": Image(b"", "a/b").wire()},
        ]
    }


def test_a_message_carries_annotations() -> None:
    (message,) = prompt_messages(Text("a", annotations=Annotations(priority=1)))
    assert message["content"] == {"type": "text", "text": "a", "annotations": {"priority": 1}}


def prompt_messages(value: object) -> list[Any]:
    messages = prompt_result(value)["messages"]
    assert isinstance(messages, list)
    return messages


@pytest.mark.parametrize("value", [None, 1, b"a", {"role": "user"}, ["a", 1], [["a"]]], ids=shown)
def test_anything_else_is_refused(value: object) -> None:
    with pytest.raises(UsageError, match="A prompt gave a"):
        prompt_result(value)


def test_a_message_of_nobody_or_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="role 'system'"):
        PromptMessage("system", "a")  # type: ignore[arg-type]  # the mistake
    with pytest.raises(UsageError, match="not a int"):
        user(1)  # type: ignore[arg-type]  # the mistake


def test_text_that_json_cannot_say_is_refused() -> None:
    with pytest.raises(UsageError, match="lone surrogate"):
        prompt_result("\ud800")
