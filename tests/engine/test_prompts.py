"""Prompts: how they are listed, what they give, and how they fail."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Literal

import pytest

from antiphon import (
    Annotations,
    Audio,
    Done,
    EmbeddedResource,
    Image,
    Limits,
    Meta,
    PromptMessage,
    ResourceLink,
    Text,
    assistant,
    user,
)
from antiphon.engine.errors import INVALID_PARAMS
from antiphon.engine.jsonrpc import JsonObject
from tests.engine.offering import error_of, get, get_error, message_text, offering
from tests.engine.peer import Peer, members


class Depth(Enum):
    QUICK = "quick"
    THOROUGH = "thorough"


def reviewing(**options: Any) -> Peer:
    server = offering(**options)

    @server.prompt
    async def review(
        code: Annotated[str, Meta(title="Code", description="What to look at")],
        language: Literal["python", "go"] = "python",
        depth: Depth = Depth.QUICK,
        lines: Annotated[int, Meta(ge=1)] | None = None,
        strict: bool = False,
    ) -> str:
        """Review code."""
        return f"{code}|{language}|{depth.value}|{lines}|{strict}"

    return Peer(server)


async def listed(peer: Peer) -> list[dict[str, Any]]:
    return [members(prompt) for prompt in (await peer.ask("prompts/list"))["prompts"]]


async def test_a_function_is_listed_with_its_arguments() -> None:
    assert await listed(reviewing()) == [
        {
            "name": "review",
            "description": "Review code.",
            "arguments": [
                {
                    "name": "code",
                    "title": "Code",
                    "description": "What to look at",
                    "required": True,
                },
                {"name": "language", "required": False},
                {"name": "depth", "required": False},
                {"name": "lines", "required": False},
                {"name": "strict", "required": False},
            ],
        }
    ]


async def test_arguments_are_read_from_texts() -> None:
    peer = reviewing()
    assert message_text(await get(peer, "review", {"code": "x"})) == "x|python|quick|None|False"
    given: JsonObject = {
        "code": "ü\n",
        "language": "go",
        "depth": "thorough",
        "lines": "7",
        "strict": "true",
    }
    result = await get(peer, "review", given)
    assert message_text(result) == "ü\n|go|thorough|7|True"
    assert result["description"] == "Review code."
    assert result["resultType"] == "complete"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (None, "code: is missing"),
        ({}, "code: is missing"),
        ({"code": "x", "language": "c"}, "language"),
        ({"code": "x", "lines": "0"}, "lines"),
        ({"code": "x", "lines": "many"}, "lines: must be a whole number"),
        ({"code": "x", "strict": "perhaps"}, "strict"),
        ({"code": 1}, "code: must be sent as text"),
        ({"code": None}, "code: must be sent as text"),
        ({"code": "x", "colour": "red"}, "colour: is no argument"),
    ],
)
async def test_arguments_that_do_not_fit_are_invalid_params(
    arguments: JsonObject | None, fault: str
) -> None:
    error = await get_error(reviewing(), "review", arguments)
    assert error.code == INVALID_PARAMS
    assert error.message.startswith("Invalid arguments for review: ")
    assert fault in error.message


async def test_all_faults_of_the_arguments_are_told_at_once() -> None:
    error = await get_error(reviewing(), "review", {"language": "c", "lines": "x"})
    assert all(name in error.message for name in ("code", "language", "lines"))


@pytest.mark.parametrize("arguments", [[], "x", 5, True])
async def test_arguments_that_are_no_object_are_invalid_params(arguments: Any) -> None:
    error = await error_of(reviewing(), "prompts/get", {"name": "review", "arguments": arguments})
    assert error.code == INVALID_PARAMS


async def test_arguments_past_the_limit_are_told_which() -> None:
    peer = reviewing(limits=Limits(arguments_bytes=50))
    error = await get_error(peer, "review", {"code": "x" * 60})
    assert error.code == INVALID_PARAMS
    assert "limit arguments_bytes is 50" in error.message


async def test_an_unknown_prompt_is_invalid_params() -> None:
    error = await get_error(reviewing(), "rewiev")
    assert (error.code, error.message) == (INVALID_PARAMS, "Unknown prompt: rewiev")


async def test_a_long_unknown_name_is_not_echoed_whole() -> None:
    error = await get_error(reviewing(), "x" * 5000)
    assert len(error.message) < 200


# -- what they give ---------------------------------------------------------------------------


async def one() -> str:
    return "text"


async def several() -> list[PromptMessage | str | Image]:
    return [user("q"), assistant("a"), "more", Image(b"png", "image/png")]


async def every_block() -> list[Text | Image | Audio | EmbeddedResource | ResourceLink]:
    return [
        Text("t", annotations=Annotations(["user"], 0.5)),
        Image(b"i", "image/png"),
        Audio(b"a", "audio/wav"),
        EmbeddedResource("x://1", "inside", "text/plain"),
        ResourceLink("x://2", "two", mime_type="text/plain"),
    ]


async def finished() -> Done[str]:
    return Done("done", meta={"com.example/trace": "7"})


async def given(function: Callable[..., Any]) -> dict[str, Any]:
    server = offering()
    server.prompt(function)
    return await get(Peer(server), function.__name__)


async def test_a_text_is_a_message_of_the_user() -> None:
    assert message_text(await given(one)) == "text"


async def test_messages_keep_their_roles_and_order() -> None:
    messages = (await given(several))["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "user"]
    assert [message["content"]["type"] for message in messages] == [
        "text",
        "text",
        "text",
        "image",
    ]


async def test_every_kind_of_content_may_stand_in_a_message() -> None:
    contents = [message["content"] for message in (await given(every_block))["messages"]]
    assert contents == [
        {"type": "text", "text": "t", "annotations": {"audience": ["user"], "priority": 0.5}},
        {"type": "image", "data": "aQ==", "mimeType": "image/png"},
        {"type": "audio", "data": "YQ==", "mimeType": "audio/wav"},
        {
            "type": "resource",
            "resource": {"uri": "x://1", "text": "inside", "mimeType": "text/plain"},
        },
        {"type": "resource_link", "uri": "x://2", "name": "two", "mimeType": "text/plain"},
    ]


async def test_done_carries_the_result_and_its_meta() -> None:
    result = await given(finished)
    assert message_text(result) == "done"
    assert result["_meta"]["com.example/trace"] == "7"
    assert "io.modelcontextprotocol/serverInfo" in result["_meta"]


async def test_a_prompt_is_not_cacheable() -> None:
    result = await given(one)
    assert "ttlMs" not in result
    assert "cacheScope" not in result
