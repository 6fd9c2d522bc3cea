"""Icons, annotations and the hints of tools."""

import datetime
import math
from typing import Any

import pytest

from antiphon import DefinitionError, UsageError
from antiphon.engine.display import Annotations, Icon, ToolAnnotations


def test_an_icon_says_only_what_is_known() -> None:
    assert Icon("https://example.org/a.png").wire() == {"src": "https://example.org/a.png"}
    assert Icon(
        "data:image/svg+xml;base64,AAAA", "image/svg+xml", ["48x48", "any"], "dark"
    ).wire() == {
        "src": "data:image/svg+xml;base64,AAAA",
        "mimeType": "image/svg+xml",
        "sizes": ["48x48", "any"],
        "theme": "dark",
    }


def test_one_size_needs_no_brackets() -> None:
    assert Icon("http://example.org/a", sizes="any").wire()["sizes"] == ["any"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"src": ""}, "no URI has"),
        ({"src": "https://example.org/a b"}, "no URI has"),
        ({"src": "javascript:alert(1)"}, "no https or http URL"),
        ({"src": "file:///etc/passwd"}, "no https or http URL"),
        ({"src": "https:///a.png"}, "no https or http URL"),
        ({"src": "a.png"}, "no https or http URL"),
        ({"src": "https://[::"}, "is no URL"),
        ({"src": "data:image/png,AAAA"}, "is not in Base64"),
        ({"src": "data:image/png;base64"}, "is not in Base64"),
        ({"sizes": ["48"]}, "size '48'"),
        ({"sizes": ["48x0"]}, "size '48x0'"),
        ({"sizes": ["48x48 96x96"]}, "size '48x48 96x96'"),
        ({"mime_type": "png"}, "mime_type 'png'"),
        ({"mime_type": "image/png\n"}, "mime_type"),
        ({"theme": "blue"}, "theme 'blue'"),
    ],
)
def test_a_wrong_icon_is_refused(given: dict[str, Any], told: str) -> None:
    given = {"src": "https://example.org/a.png", **given}
    with pytest.raises(DefinitionError, match="Icon has a fault") as caught:
        Icon(**given)
    assert told in caught.value.faults[0]


def test_all_that_is_wrong_with_an_icon_is_told_at_once() -> None:
    with pytest.raises(UsageError, match="Icon has 4 faults"):
        Icon("a.png", "png", ["big"], "blue")  # type: ignore[arg-type]  # the mistake


def test_a_long_source_is_told_in_short() -> None:
    with pytest.raises(DefinitionError) as caught:
        Icon("data:image/png," + "A" * 10_000)
    assert len(str(caught.value)) < 200


UTC = datetime.UTC
MORNING = datetime.datetime(2025, 1, 12, 15, 0, 58, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "wire"),
    [
        ({}, {}),
        ({"audience": ["user", "assistant"]}, {"audience": ["user", "assistant"]}),
        ({"audience": "user"}, {"audience": ["user"]}),
        ({"priority": 0}, {"priority": 0}),
        ({"priority": 1.0}, {"priority": 1.0}),
        ({"last_modified": "2025-01-12"}, {"lastModified": "2025-01-12"}),
        ({"last_modified": MORNING}, {"lastModified": "2025-01-12T15:00:58Z"}),
        (
            {"last_modified": MORNING.astimezone(datetime.timezone(datetime.timedelta(hours=2)))},
            {"lastModified": "2025-01-12T17:00:58+02:00"},
        ),
    ],
)
def test_annotations_say_only_what_is_known(given: dict[str, Any], wire: dict[str, Any]) -> None:
    assert Annotations(**given).wire() == wire


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"audience": ["system"]}, "audience 'system'"),
        ({"priority": -0.1}, "priority -0.1"),
        ({"priority": 1.1}, "priority 1.1"),
        ({"priority": math.nan}, "priority nan"),
        ({"priority": True}, "priority True"),
        ({"priority": "high"}, "priority 'high'"),
        ({"last_modified": "yesterday"}, "last_modified 'yesterday'"),
        ({"last_modified": MORNING.replace(tzinfo=None)}, "has no time zone"),
    ],
)
def test_wrong_annotations_are_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Annotations(**given)
    assert told in caught.value.faults[0]


def test_hints_of_a_tool_have_the_protocols_names() -> None:
    assert ToolAnnotations().wire() == {}
    assert ToolAnnotations(
        title="Delete", read_only=False, destructive=True, idempotent=True, open_world=False
    ).wire() == {
        "title": "Delete",
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": True,
        "openWorldHint": False,
    }


@pytest.mark.parametrize("given", [{"read_only": "yes"}, {"read_only": True, "destructive": True}])
def test_hints_that_make_no_sense_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match="ToolAnnotations has a fault"):
        ToolAnnotations(**given)
