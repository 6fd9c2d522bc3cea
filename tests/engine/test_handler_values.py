"""What handlers make: a value of the wrong kind is refused where it is made, and never sent."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon import (
    Annotations,
    Audio,
    Call,
    DefinitionError,
    Done,
    EmbeddedResource,
    Icon,
    Image,
    ResourceContents,
    ResourceLink,
    Text,
    ToolAnnotations,
    UsageError,
)
from tests.engine.hands import lone_tool
from tests.engine.peer import Peer, meta

ICON = Icon("https://example.com/a.png")
HINTED: dict[str, Any] = {"annotations": {"priority": 1}}


@pytest.mark.parametrize(
    ("kind", "given", "options", "fault"),
    [
        (Text, [5], {}, "Text: text must be text, not int"),
        (Text, [None], {}, "Text: text must be text, not None"),
        (Text, ["a"], HINTED, r"Text: annotations must be Annotations\(...\), not dict"),
        (Text, ["a"], {"meta": ["x"]}, "Text: meta must be a dict, not list"),
        (Image, ["abc", "image/png"], {}, "Image: data must be bytes, not str"),
        (Image, [b"", None], {}, "Image: mime_type must be text, not None"),
        (Audio, [b"", 5], {}, "Audio: mime_type must be text, not int"),
        (ResourceLink, [5, "a"], {}, "ResourceLink: uri must be text, not int"),
        (ResourceLink, ["x:a", None], {}, "ResourceLink: name must be text, not None"),
        (ResourceLink, ["x:a", "a", 7], {}, "ResourceLink: description must be text, not int"),
        (ResourceLink, ["x:a", "a"], {"title": 7}, "ResourceLink: title must be text, not int"),
        (ResourceLink, ["x:a", "a"], {"size": 1.5}, "size must be a whole number, not 1.5"),
        (ResourceLink, ["x:a", "a"], {"size": True}, "size must be a whole number, not bool"),
        (ResourceLink, ["x:a", "a"], {"icons": ICON}, "icons must be a list of icons"),
        (ResourceLink, ["x:a", "a", None, 5], {}, "ResourceLink: mime_type 5 is none"),
        (EmbeddedResource, [5, "a"], {}, "EmbeddedResource: uri must be text, not int"),
        (EmbeddedResource, ["x:a", 5], {}, "contents must be text or bytes, not int"),
        (ResourceContents, [5], {}, "ResourceContents: contents must be text or bytes, not int"),
        (ResourceContents, ["a"], {"uri": 5}, "ResourceContents: uri must be text, not int"),
        (ResourceContents, ["a"], {"meta": ["x"]}, "ResourceContents: meta must be a dict"),
    ],
)
def test_a_block_of_the_wrong_kind_is_refused(
    kind: Any, given: list[Any], options: dict[str, Any], fault: str
) -> None:
    with pytest.raises(UsageError, match=fault):
        kind(*given, **options)


@pytest.mark.parametrize(
    ("kind", "given", "fault"),
    [
        (Icon, {"src": 5}, "src must be text, not int"),
        (Icon, {"src": ICON.src, "mime_type": 5}, "mime_type 5 is none"),
        (Icon, {"src": ICON.src, "sizes": 48}, "size 48 is neither"),
        (Icon, {"src": ICON.src, "sizes": [48]}, "size 48 is neither"),
        (Annotations, {"audience": 5}, "audience 5 is neither"),
        (Annotations, {"last_modified": 5}, "last_modified must be text or a datetime, not int"),
        (ToolAnnotations, {"title": 5}, "title must be text, not int"),
    ],
)
def test_so_is_what_a_host_shows(kind: Any, given: dict[str, Any], fault: str) -> None:
    with pytest.raises(DefinitionError, match=fault):
        kind(**given)


async def said(tool: Any, caplog: pytest.LogCaptureFixture) -> str:
    """What the log says of a tool that failed; nothing was sent but its failure."""
    asking = {**meta(progressToken=1), "io.modelcontextprotocol/logLevel": "debug"}
    peer: Peer = lone_tool(tool)
    result = await peer.ask("tools/call", {"name": tool.__name__, "_meta": asking})
    assert result["isError"]
    assert peer.notifications == []
    return caplog.text


@pytest.mark.parametrize(
    ("step", "fault"),
    [
        ({"done": 1, "message": 5}, "message must be text, not int"),
        ({"done": 1, "total": True}, "Progress is told in finite numbers"),
        ({"done": True}, "Progress is told in finite numbers"),
        ({"done": "1"}, "Progress is told in finite numbers"),
        ({"done": None}, "Progress is told in finite numbers"),
        ({"done": 1, "total": "2"}, "Progress is told in finite numbers"),
    ],
)
async def test_so_is_progress(
    step: dict[str, Any], fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(call: Call) -> str:
        await call.progress(**step)
        return "worked"

    assert fault in await said(work, caplog)


async def test_so_is_the_name_of_a_logger(caplog: pytest.LogCaptureFixture) -> None:
    wrong: Any = 9

    async def work(call: Call) -> str:
        await call.message("info", "x", logger=wrong)
        return "worked"

    assert "logger must be text, not int" in await said(work, caplog)


async def test_so_is_the_meta_of_a_result(caplog: pytest.LogCaptureFixture) -> None:
    wrong: Any = ["x"]

    async def work() -> Done[str]:
        return Done("worked", meta=wrong)

    assert "meta must be a dict, not list" in await said(work, caplog)
