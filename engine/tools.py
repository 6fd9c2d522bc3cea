"""A registered tool. Specification: server/tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from attrs import Factory, field, frozen

from .carrier import Carrier
from .content import tool_error, tool_result
from .errors import UsageError
from .jsonrpc import JsonObject, JsonValue
from .machine import Machine
from .mirrored import Mirrored, mirrored_parameters
from .outcomes import Done
from .preanswers import Preanswers
from .schema import Validator


@frozen
class ToolEntry(Carrier):
    """A registered tool.

    Attributes:
        machine: what a call of it runs.
        description: how it is listed, as the protocol's ``Tool`` object.
        read_arguments: makes the machine's arguments of a JSON object that the input schema
            has accepted; raises ValueError where the class itself refuses them.
        validator: of the input schema.
        results: the validator of the output schema, where there is one.
        needs: the capabilities that a client must have declared to call it.
        answering: the arguments that answer questions beforehand, which no handler sees.
        mirrored: the parameters that HTTP repeats in headers.
    """

    noun: ClassVar[str] = "Tool"
    method: ClassVar[str] = "tools/call"

    machine: Machine
    description: JsonObject
    read_arguments: Callable[[JsonObject], object]
    validator: Validator = field(repr=False)
    results: Validator | None = field(default=None, repr=False)
    needs: JsonObject = field(factory=dict[str, JsonValue])
    answering: frozenset[str] = frozenset()
    mirrored: tuple[Mirrored, ...] = field(
        init=False, repr=False, default=Factory(lambda self: _mirrored(self), takes_self=True)
    )

    @property
    def key(self) -> str:
        """The name that clients call."""
        return self.machine.name

    def arguments(self, given: Mapping[str, JsonValue]) -> object:
        """Check arguments against the input schema and take them in."""
        members = dict(given)
        if faults := self.validator.faults(members):
            raise ValueError("; ".join(faults))
        return self.read_arguments({k: v for k, v in members.items() if k not in self.answering})

    def preanswers(self, given: Mapping[str, JsonValue]) -> Preanswers:
        """The arguments that answer questions, as a client would respond."""
        responses: dict[str, JsonObject] = {
            name: {"action": "accept", "content": value}
            for name, value in given.items()
            if name in self.answering
        }
        return Preanswers(self.answering, responses)

    def result(self, done: Done[Any], target: str, *, resumed: bool) -> JsonObject:
        """The members of a ``CallToolResult``; a broken output schema is a UsageError."""
        del target, resumed
        result = tool_result(done.result)
        if self.results is None:
            return result
        if "structuredContent" not in result:
            raise UsageError(f"Tool {self.name!r} gave no structured result, which it promises")
        if faults := self.results.faults(result["structuredContent"]):
            raise UsageError(f"The result of tool {self.name!r} breaks its schema: {faults[0]}")
        return result

    def failure(self, message: str) -> JsonObject:
        """A result that a model can act on."""
        return tool_error(message)

    def invalid(self, message: str, target: str) -> JsonObject:
        """A result too: a model can mend its arguments."""
        del target
        return tool_error(message)


def _mirrored(tool: ToolEntry) -> tuple[Mirrored, ...]:
    schema = tool.description.get("inputSchema")
    return mirrored_parameters(schema, f"Tool {tool.name}") if isinstance(schema, dict) else ()
