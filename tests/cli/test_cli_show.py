"""What a server gave, as a person reads it and as a program does."""

import json
from typing import Any

import pytest

from antiphon.engine.client_messages import CallToolResult, Tool
from antiphon.transports.cli_show import (
    as_json,
    result_json,
    result_text,
)
from antiphon.transports.cli_show_listed import tool_json, tool_text


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        (text("a\nb"), "a\nb"),
        (text("\x1b[31mred"), "red"),
        ({"type": "image", "data": "QUJD", "mimeType": "image/png"}, "[image image/png, 3 bytes]"),
        ({"type": "resource_link", "uri": "file:///a", "name": "a\n"}, "[link a: file:///a]"),
        (
            {"type": "resource", "resource": {"uri": "x:y", "text": "\x07inside"}},
            "[resource x:y]\ninside",
        ),
        ({"type": "resource", "resource": {"uri": "x:y", "blob": "QUJD"}}, "[resource x:y]"),
        ({"type": "resource"}, "[resource None]"),
        ({"type": "new\x9b"}, '{\n  "type": "new"\n}'),
    ],
)
def test_each_kind_of_block_is_shown(block: dict[str, Any], shown: str) -> None:
    assert result_text(CallToolResult([block])) == shown


def test_structured_content_takes_the_place_of_the_text_that_repeats_it() -> None:
    result = CallToolResult([text('{"a": "ü"}')], {"a": "ü"}, has_structured=True)
    assert result_text(result) == '{\n  "a": "ü"\n}'
    assert result_text(CallToolResult([], 5, has_structured=True)) == "5"
    other = CallToolResult([text("five")], 5, has_structured=True)
    assert result_text(other) == "five"


def test_a_result_is_json_as_it_came() -> None:
    meta: Any = {"a": 1}
    result = CallToolResult([text("x")], None, is_error=True, has_structured=True, meta=meta)
    assert result_json(result) == {
        "content": [text("x")],
        "structuredContent": None,
        "isError": True,
        "_meta": {"a": 1},
    }
    assert result_json(CallToolResult([])) == {"content": []}


def test_json_loses_nothing_and_moves_no_terminal() -> None:
    hostile = "\x1b[31m\x07\x7f\x9b\u202eü"
    encoded = as_json({hostile: hostile})
    assert encoded.isascii()
    assert encoded.replace("\n", "").isprintable()
    assert json.loads(encoded) == {hostile: hostile}


def test_a_tool_is_listed_with_its_arguments() -> None:
    schema: Any = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "What\nit is called"},
            "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "rest": True,
            "kind": {"enum": ["a\x1b[2Jb", "", 5, None], "default": "ab"},
            "many": {"type": "integer", "enum": list(range(50)), "default": 7},
            "tags": {"type": "array", "default": []},
        },
        "required": ["name"],
    }
    tool = Tool("make", schema, title="Make\x07", description="Makes one.\n\nTakes a while.")
    assert tool_text(tool).splitlines() == [
        "make (Make)",
        "    Makes one.",
        "    ",
        "    Takes a while.",
        "    name=<string>: What it is called",
        "    size=<integer or null> (optional)",
        "    rest=<anything> (optional)",
        '    kind=<ab|""|5|null> (default ab)',
        "    many=<integer> (default 7)",
        "    tags=<array> (default [])",
    ]


@pytest.mark.parametrize("schema", [{}, {"properties": []}, {"properties": {}, "required": 5}])
def test_a_tool_with_a_strange_schema_is_listed_all_the_same(schema: dict[str, Any]) -> None:
    assert tool_text(Tool("odd", schema)) == "odd"
    assert tool_json(Tool("odd", schema)) == {"name": "odd", "inputSchema": schema}
