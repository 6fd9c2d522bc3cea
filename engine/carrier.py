"""What may take several rounds: a tool, a prompt, a resource, seen from a request for it.

Specification: basic/patterns/mrtr, "Supported Requests".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from .errors import INTERNAL_ERROR, INVALID_PARAMS, ProtocolError
from .jsonrpc import JsonObject, JsonValue
from .machine import Machine
from .outcomes import Done
from .preanswers import Preanswers


class Carrier(ABC):
    """A registered tool, prompt or resource.

    Attributes:
        noun: what it is, for messages.
        method: the request that runs it.
        by_uri: whether it is asked for by a uri, behind which there may be nothing.
        machine: what it runs.
        description: how it is listed.
        needs: the capabilities that a client must have declared to be served at all.
    """

    noun: ClassVar[str]
    method: ClassVar[str]
    by_uri: ClassVar[bool] = False
    machine: Machine
    description: JsonObject
    needs: JsonObject

    @property
    def name(self) -> str:
        """Its name, for clients and for logs."""
        return self.machine.name

    @abstractmethod
    def arguments(self, given: Mapping[str, JsonValue]) -> object:
        """Check arguments and take them in.

        Raises:
            ValueError: they do not fit; the message is written for whoever called.
        """

    def preanswers(self, given: Mapping[str, JsonValue]) -> Preanswers:
        """What the arguments answer of the questions to come; nothing, where no tool lets them."""
        del given
        return Preanswers()

    @abstractmethod
    def result(self, done: Done[Any], target: str, *, resumed: bool) -> JsonObject:
        """The members of the complete result, but for ``resultType``.

        Args:
            done: how the machine ended.
            target: the name or the uri that was asked for.
            resumed: whether the result depends on answers.

        Raises:
            UsageError: it cannot be said in a result of this kind.
        """

    def failure(self, message: str) -> JsonObject:
        """Say that it ended without a result.

        Raises:
            ProtocolError: where no result can say so.
        """
        # What no JSON can say is replaced: the rest of the message must reach the client.
        raise ProtocolError(INTERNAL_ERROR, message.encode("utf-8", "replace").decode())

    def invalid(self, message: str, target: str) -> JsonObject:
        """Say that the arguments do not fit, as :meth:`failure` does."""
        del target
        raise ProtocolError(INVALID_PARAMS, message)
