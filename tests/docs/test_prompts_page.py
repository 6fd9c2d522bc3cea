"""The server of the page on prompts and resources does what the page says."""

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from antiphon.engine.jsonrpc import JsonObject
from tests.docs.pages import ROOT, source_of
from tests.engine.offering import contents_text, get, get_error, message_text, read, read_error
from tests.engine.peer import Peer, accept, asked


@pytest.fixture
def peer() -> Iterator[Peer]:
    module = ModuleType("the_page_on_prompts")
    sys.modules[module.__name__] = module
    exec(source_of(ROOT / "docs" / "prompts-and-resources.md"), vars(module))
    yield Peer(vars(module)["server"])
    del sys.modules[module.__name__]


async def test_the_prompts_of_the_page(peer: Peer) -> None:
    result = await get(peer, "review", {"code": "x = 1", "lines": "5"})
    assert [message["role"] for message in result["messages"]] == ["user", "assistant"]
    assert "in at most 5 lines" in result["messages"][0]["content"]["text"]
    error = await get_error(peer, "review", {"code": " "})
    assert (error.code, error.message) == (-32603, "There is no code to review.")
    assert (await get_error(peer, "review", {"code": "x", "lines": "0"})).code == -32602


async def test_the_resources_of_the_page(peer: Peer) -> None:
    config = await read(peer, "config://library")
    assert contents_text(config) == '{"shelves":12}'
    assert config["ttlMs"] == 60_000
    parts = (await read(peer, "library://all"))["contents"]
    assert [part["uri"] for part in parts] == ["book://en/moby-dick", "cover://moby-dick"]


async def test_the_templates_of_the_page(peer: Peer) -> None:
    assert contents_text(await read(peer, "book://en/moby-dick")) == "moby-dick, page 1, in en"
    assert "page 7" in contents_text(await read(peer, "book://de/moby-dick?page=7"))
    for uri in ("book://en/emma", "book://fr/moby-dick", "book://en/"):
        error = await read_error(peer, uri)
        assert (error.code, error.data) == (-32602, {"uri": uri})


async def test_the_flow_of_the_page_is_all_three(peer: Peer) -> None:
    answers: dict[str, Any] = {"asking_tone": accept(tone="dry")}
    prompt = await get(peer, "essay", {"animal": "cats"}, responses=answers)
    assert message_text(prompt) == "Dry words on cats."
    first = await read(peer, "essay://dogs")
    assert asked(first) == ["asking_tone"]
    last = await read(peer, "essay://dogs", state=first["requestState"], responses=answers)
    assert contents_text(last) == "Dry words on dogs."
    tool = await peer.call("essay", {"animal": "dogs"}, responses=answers)
    assert tool["resultType"] == "complete"


async def test_the_suggestions_of_the_page(peer: Peer) -> None:
    argument: JsonObject = {"name": "author", "value": "M"}
    ref: JsonObject = {"type": "ref/prompt", "name": "introduce"}
    for language, expected in (("en", ["Melville", "Mansfield"]), ("de", ["Mann"])):
        context: JsonObject = {"arguments": {"language": language}}
        wanted: JsonObject = {"ref": ref, "argument": argument, "context": context}
        result = await peer.ask("completion/complete", wanted)
        assert result["completion"]["values"] == expected
