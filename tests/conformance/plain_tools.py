"""The suite's tools that answer at once: content of every kind, errors, progress, schemas."""

import base64
import struct
from typing import Annotated, Any, Final

import trio

from antiphon import Audio, Call, EmbeddedResource, Image, Meta, Server, Text, ToolError
from antiphon.engine.jsonrpc import JsonObject
from antiphon.engine.schema import Validator
from antiphon.engine.tools import ToolEntry
from antiphon.flows.functions import FunctionMachine

PNG: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC"
)
# One silent sample: 8000 Hz, mono, 8 bits.
WAV: Final = struct.pack(
    "<4sI4s4sIHHIIHH4sI2s",
    *(b"RIFF", 38, b"WAVE", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8, b"data", 1, b"\x80\0"),
)

SCHEMA_2020_12: Final[JsonObject] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


async def test_simple_text() -> str:
    """Return one text block."""
    return "This is a simple text response for testing."


async def test_image_content() -> Image:
    """Return one image block."""
    return Image(PNG, "image/png")


async def test_audio_content() -> Audio:
    """Return one audio block."""
    return Audio(WAV, "audio/wav")


async def test_embedded_resource() -> EmbeddedResource:
    """Return the contents of a resource."""
    return EmbeddedResource(
        "test://embedded-resource", "This is an embedded resource.", "text/plain"
    )


async def test_multiple_content_types() -> list[Text | Image | EmbeddedResource]:
    """Return text, an image and a resource in one result."""
    return [
        Text("Multiple content types test:"),
        Image(PNG, "image/png"),
        EmbeddedResource(
            "test://mixed-content-resource", '{"test":"data","value":123}', "application/json"
        ),
    ]


async def test_error_handling() -> str:
    """Fail, always."""
    raise ToolError("This tool fails on purpose.")


async def test_tool_with_progress(call: Call[Any]) -> str:
    """Report progress three times, then return."""
    for done in (0, 50, 100):
        await call.progress(done, 100, f"Completed step {done} of 100")
        await trio.sleep(0.05)
    return "Progress was reported."


async def test_logging_tool(call: Call[Any]) -> str:
    """Log a message, which only a client that set a level receives."""
    await call.message("info", "The logging tool was called.", logger="conformance")
    return "A message was logged."


async def test_tool_with_logging(call: Call[Any]) -> str:
    """Log three messages, one after the other."""
    for told in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await call.message("info", told, logger="conformance")
        await trio.sleep(0.05)
    return "Messages were logged."


async def test_x_mcp_header(
    region: Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Region"})],
) -> str:
    """Return the argument that a header repeats."""
    return f"The region is {region}."


async def json_schema_2020_12_tool() -> str:
    """Has an input schema that uses much of JSON Schema 2020-12."""
    return "The arguments fit."


def add_plain_tools(server: Server) -> None:
    """Register them all."""
    for function in (
        test_simple_text,
        test_image_content,
        test_audio_content,
        test_embedded_resource,
        test_multiple_content_types,
        test_error_handling,
        test_tool_with_progress,
        test_logging_tool,
        test_tool_with_logging,
        test_x_mcp_header,
    ):
        server.tool(function)
    server.tools.add(_with_schema())
    _add_changes(server)


def _add_changes(server: Server) -> None:
    """The tools that tell subscribers of a change."""

    @server.tool
    async def test_trigger_tool_change() -> str:
        """Tell subscribers that the tools have changed."""
        server.tools_changed()
        return "Subscribers of the tools were told."

    @server.tool
    async def test_trigger_prompt_change() -> str:
        """Tell subscribers that the prompts have changed."""
        server.prompts_changed()
        return "Subscribers of the prompts were told."


def _with_schema() -> ToolEntry:
    """The tool whose schema is written by hand, which no signature could say."""
    name = json_schema_2020_12_tool.__name__
    return ToolEntry(
        FunctionMachine(name, json_schema_2020_12_tool, (), None),
        {
            "name": name,
            "description": json_schema_2020_12_tool.__doc__ or "",
            "inputSchema": SCHEMA_2020_12,
        },
        lambda given: given,
        Validator(SCHEMA_2020_12),
    )
