"""How prompts are registered, at any time."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from antiphon import (
    Call,
    DefinitionError,
    Icon,
    UsageError,
)
from antiphon.engine.errors import INVALID_PARAMS, MISSING_CAPABILITY
from tests.engine.offering import get, get_error, message_text, offering
from tests.engine.peer import Peer, members


async def listed(peer: Peer) -> list[dict[str, Any]]:
    return [members(prompt) for prompt in (await peer.ask("prompts/list"))["prompts"]]


async def test_options_say_how_a_prompt_is_listed() -> None:
    server = offering()

    @server.prompt(
        name="the review",
        title="Review",
        description="Looks at code.",
        icons=[Icon("https://example.com/i.png", "image/png", ["48x48"])],
        meta={"com.example/team": "red"},
    )
    async def review() -> str:
        """Not this."""
        return "look"

    assert await listed(Peer(server)) == [
        {
            "name": "the review",
            "title": "Review",
            "description": "Looks at code.",
            "icons": [
                {
                    "src": "https://example.com/i.png",
                    "mimeType": "image/png",
                    "sizes": ["48x48"],
                }
            ],
            "_meta": {"com.example/team": "red"},
        }
    ]
    assert message_text(await get(Peer(server), "the review")) == "look"
    assert await review() == "look"


async def test_a_client_without_what_a_prompt_needs_is_refused() -> None:
    server = offering()

    @server.prompt(needs={"sampling": {}})
    async def sampled() -> str:
        return "said"

    error = await get_error(Peer(server, capabilities={}), "sampled")
    assert error.code == MISSING_CAPABILITY
    assert error.data == {"requiredCapabilities": {"sampling": {}}}
    assert message_text(await get(Peer(server), "sampled")) == "said"


async def test_a_handler_may_require_a_capability() -> None:
    server = offering()

    @server.prompt
    async def sampled(call: Call[Any]) -> str:
        call.require({"sampling": {}})
        return "said"

    error = await get_error(Peer(server, capabilities={}), "sampled")
    assert error.code == MISSING_CAPABILITY


async def test_prompts_come_and_go_while_the_server_runs() -> None:
    peer = Peer(offering())

    @peer.server.prompt
    async def review(code: str) -> str:
        return code

    @peer.server.prompt
    async def brief() -> str:
        return "short"

    assert [prompt["name"] for prompt in await listed(peer)] == ["review", "brief"]
    peer.server.prompts.remove("review")
    assert [prompt["name"] for prompt in await listed(peer)] == ["brief"]
    assert (await get_error(peer, "review", {"code": "x"})).code == INVALID_PARAMS
    peer.server.prompts.remove("brief")
    assert await listed(peer) == []
    with pytest.raises(UsageError, match="No prompt named 'brief' is registered"):
        peer.server.prompts.remove("brief")


async def test_a_call_that_has_begun_outlives_the_removal_of_its_prompt() -> None:
    server = offering()

    @server.prompt
    async def leaving() -> str:
        server.prompts.remove("leaving")
        await trio.lowlevel.checkpoint()
        return "still here"

    assert message_text(await get(Peer(server), "leaving")) == "still here"


def test_a_name_is_taken_once() -> None:
    server = offering()

    @server.prompt
    async def review() -> str:
        return ""

    with pytest.raises(UsageError, match="A prompt named 'review' is registered already"):

        @server.prompt(name="review")
        async def again() -> str:
            return ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mime_type": "text/plain"}, "mime_type is no option; there are description, icons"),
        ({"anotations": 1, "ttl_ms": 1}, "anotations, ttl_ms is no option"),
        ({"name": "x" * 200}, "needs 1 to 128 printable characters"),
        ({"name": "line\nbreak"}, "needs 1 to 128 printable characters"),
        ({"needs": {"sampling": True}}, "needs are objects by name.*sampling is none"),
        ({"title": "half \ud800"}, "cannot be listed"),
        ({"meta": {"com.example/x": object()}}, "cannot be listed"),
    ],
)
def test_options_that_do_not_fit_are_refused_in_plain_words(
    options: dict[str, Any], words: str
) -> None:
    async def function() -> str:
        return ""

    with pytest.raises(UsageError, match=words):
        offering().prompt(**options)(function)


async def takes_a_list(values: list[str]) -> str:
    return ""


async def takes_two_kinds(value: int | str) -> str:
    return ""


def is_not_async() -> str:
    return ""


async def takes_whatever_comes(**values: str) -> str:
    return ""


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (takes_a_list, "argument 'values' is nothing that a text says"),
        (takes_two_kinds, "argument 'value' may be one of several types"),
        (is_not_async, "must be `async def`"),
        (takes_whatever_comes, "takes whatever comes"),
    ],
)
def test_a_function_whose_arguments_no_text_can_fill_is_refused(function: Any, words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        offering().prompt(function)


@pytest.mark.parametrize("thing", [5, "text", dict, None])
def test_what_is_neither_flow_nor_function_is_refused(thing: Any) -> None:
    decorate: Any = offering().prompt()
    with pytest.raises(UsageError, match="takes a flow object or an async function"):
        decorate(thing)
