"""A registered prompt. Specification: server/prompts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from attrs import field, frozen

from .carrier import Carrier
from .completion import Complete
from .jsonrpc import JsonObject, JsonValue
from .machine import Machine
from .outcomes import Done
from .prompt_content import prompt_result


@frozen
class PromptEntry(Carrier):
    """A registered prompt.

    Attributes:
        machine: what getting it runs.
        description: how it is listed, as the protocol's ``Prompt`` object.
        read_arguments: takes the arguments in, which are texts; raises ValueError.
        completers: what suggests values, by argument.
        needs: the capabilities that a client must have declared to get it.
    """

    noun: ClassVar[str] = "Prompt"
    method: ClassVar[str] = "prompts/get"

    machine: Machine
    description: JsonObject
    read_arguments: Callable[[Mapping[str, JsonValue]], object] = field(repr=False)
    completers: Mapping[str, Complete] = field(factory=dict[str, Complete], repr=False)
    needs: JsonObject = field(factory=dict[str, JsonValue])

    @property
    def key(self) -> str:
        """The name that clients say."""
        return self.machine.name

    def arguments(self, given: Mapping[str, JsonValue]) -> object:
        """Take the arguments in."""
        return self.read_arguments(given)

    def result(self, done: Done[Any], target: str, *, resumed: bool) -> JsonObject:
        """The members of a ``GetPromptResult``."""
        del target, resumed
        result = prompt_result(done.result)
        if (description := self.description.get("description")) is not None:
            result = {"description": description, **result}
        return result
