"""What a client remembers of the tools that it has listed: which of their parameters are mirrored.

Specification: server/tools, "x-mcp-header"; basic/transports/streamable-http, "Custom Headers
from Tool Parameters".
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, TypeAlias

from attrs import define, field

from .call_errors import quoted
from .client_messages import Tool
from .errors import DefinitionError, printable
from .mirrored import Mirrored, mirrored_parameters

_log = logging.getLogger(__name__)

_BYTES: Final = 4 * 1024 * 1024
"""About what is remembered, at the most. A tool that is forgotten is listed again when its server
misses a header, so that this costs time alone."""

_OVERHEAD: Final = 500
"""Bytes that a tool takes beside its texts, and each text again."""

_TOLD_FAULTS: Final = 3
_TOLD_CHARACTERS: Final = 500

Known: TypeAlias = tuple[Mirrored, ...] | DefinitionError
"""A tool's parameters with headers, or what is wrong with them."""


@define
class ToolMemory:
    """The tools whose schema marks parameters; those that were listed last, within ``bound``."""

    bound: int = _BYTES
    _known: OrderedDict[str, Known] = field(factory=OrderedDict[str, Known])
    _size: int = 0

    def take(self, tool: Tool, *, strict: bool) -> bool:
        """Remember a tool as it is listed now; whether it can be used.

        Args:
            tool: what the server says of it.
            strict: whether one whose marks break a rule cannot; a warning tells of it, once.
        """
        before = self._known.get(tool.name, ())
        known = self.learn(tool)
        if not strict or not isinstance(known, DefinitionError):
            return True
        if not _alike(before, known):
            _warn(tool.name, known)
        return False

    def learn(self, tool: Tool) -> Known:
        """Remember a tool, and what it marks."""
        self._forget(tool.name)
        if known := _known(tool):
            self._keep(tool.name, known)
        return known

    def mirrored(self, name: str) -> tuple[Mirrored, ...]:
        """The parameters of a tool that headers repeat, as far as is known."""
        known = self._known.get(name, ())
        return () if isinstance(known, DefinitionError) else known

    def _keep(self, name: str, known: Known) -> None:
        self._known[name] = known
        self._size += _weight(name, known)
        while self._size > self.bound:
            self._forget(next(iter(self._known)))

    def _forget(self, name: str) -> None:
        if known := self._known.pop(name, ()):
            self._size -= _weight(name, known)


def _known(tool: Tool) -> Known:
    try:
        return mirrored_parameters(tool.input_schema, f"Tool {quoted(tool.name)}")
    except DefinitionError as error:
        return error.with_traceback(None)


def _alike(before: Known, now: DefinitionError) -> bool:
    return isinstance(before, DefinitionError) and before.faults == now.faults


def _weight(name: str, known: Known) -> int:
    return _OVERHEAD + len(name) + sum(_OVERHEAD + len(word) for word in _words(known))


def _words(known: Known) -> Iterator[str]:
    if isinstance(known, DefinitionError):
        yield from known.faults
        return
    for parameter in known:
        yield parameter.suffix
        yield from parameter.path


def _warn(name: str, error: DefinitionError) -> None:
    told = printable("; ".join(error.faults[:_TOLD_FAULTS]))[:_TOLD_CHARACTERS]
    _log.warning("Tool %s is left out of the list for its x-mcp-header: %s", quoted(name), told)
