"""The tools of a server: what is listed, and what a call runs."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator

from attrs import field, frozen

from .content import tool_result
from .errors import INVALID_PARAMS, ProtocolError, UsageError
from .jsonrpc import JsonObject, JsonValue
from .machine import Machine
from .schema import Validator


@frozen
class ToolEntry:
    """A registered tool.

    Attributes:
        machine: what a call of it runs.
        description: how it is listed, as the protocol's ``Tool`` object.
        read_arguments: makes the machine's arguments of a JSON object that the input schema
            has accepted; raises ValueError where the class itself refuses them.
        validator: of the input schema.
        results: the validator of the output schema, where there is one.
    """

    machine: Machine
    description: JsonObject
    read_arguments: Callable[[JsonObject], object]
    validator: Validator = field(repr=False)
    results: Validator | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The name that clients call."""
        return self.machine.name

    def arguments(self, given: JsonObject) -> object:
        """Check arguments against the input schema and take them in.

        Raises:
            ValueError: they do not fit; the message is written for a model.
        """
        if faults := self.validator.faults(given):
            raise ValueError("; ".join(faults))
        return self.read_arguments(given)

    def result(self, value: object) -> JsonObject:
        """The members of a ``CallToolResult`` that say ``value``.

        Raises:
            UsageError: it has no JSON form, or does not fit the output schema that was listed.
        """
        result = tool_result(value)
        if self.results is None:
            return result
        if "structuredContent" not in result:
            raise UsageError(f"Tool {self.name!r} gave no structured result, which it promises")
        if faults := self.results.faults(result["structuredContent"]):
            raise UsageError(f"The result of tool {self.name!r} breaks its schema: {faults[0]}")
        return result


class Registry:
    """Tools by name, listed in the order in which they were registered."""

    def __init__(self) -> None:
        self._tools: dict[str, ToolEntry] = {}

    def __iter__(self) -> Iterator[ToolEntry]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def add(self, tool: ToolEntry) -> None:
        """Register a tool.

        Raises:
            UsageError: the name is taken, or no client could send it.
        """
        if not 1 <= len(tool.name) <= 128 or not tool.name.isprintable():
            raise UsageError(f"Tool name {tool.name!r} needs 1 to 128 printable characters")
        if tool.name in self._tools:
            raise UsageError(f"A tool named {tool.name!r} is registered already")
        self._tools[tool.name] = tool

    def find(self, name: str) -> ToolEntry:
        """The tool of that name.

        Raises:
            ProtocolError: -32602, there is none.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise ProtocolError(INVALID_PARAMS, f"Unknown tool: {name[:128]}")
        return tool

    def page(self, cursor: str | None, size: int) -> tuple[list[JsonValue], str | None]:
        """The descriptions behind a cursor, and the cursor of the next page if there is one.

        A cursor names the last tool of its page, so tools that come or go elsewhere neither
        repeat nor hide the rest.

        Raises:
            ProtocolError: -32602, the cursor is none of ours.
        """
        names = list(self._tools)
        start = 0 if cursor is None else names.index(self._read_cursor(cursor)) + 1
        listed = names[start : start + size]
        more = start + size < len(names)
        descriptions: list[JsonValue] = [self._tools[name].description for name in listed]
        return descriptions, _cursor(listed[-1]) if more else None

    def _read_cursor(self, cursor: str) -> str:
        try:
            name = base64.b64decode(cursor, altchars=b"-_", validate=True).decode()
        except (binascii.Error, ValueError):
            name = ""
        if name not in self._tools:
            raise ProtocolError(INVALID_PARAMS, "Invalid cursor: list again from the first page")
        return name


def _cursor(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode("ascii")
