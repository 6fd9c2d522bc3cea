"""The server as its author sees it: flows and functions are registered here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast, overload

from ..engine.errors import UsageError
from ..engine.jsonrpc import JsonObject
from ..engine.machine import Machine
from ..engine.registry import ToolEntry
from ..engine.schema import Validator, builder, check_defaults, derive
from ..engine.server import ServerCore
from .flow import Flow
from .functions import FunctionMachine, ToolFunction, output_schema, read_signature
from .machine import FlowMachine

Function = TypeVar("Function", bound=ToolFunction)


class Server(ServerCore):
    """An MCP server; its arguments are those of :class:`~antiphon.engine.server.ServerCore`."""

    @overload
    def tool(
        self, tool: Flow[Any], /, *, name: str | None = None, title: str | None = None
    ) -> None: ...
    @overload
    def tool(self, tool: Function, /) -> Function: ...
    @overload
    def tool(
        self, /, *, name: str | None = None, title: str | None = None
    ) -> Callable[[Function], Function]: ...
    def tool(
        self,
        tool: Flow[Any] | ToolFunction | None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> object:
        """Register a tool: ``server.tool(Provision(cloud))``, or ``@server.tool`` on a function.

        Args:
            tool: a flow object, or an ``async def`` function with typed parameters.
            name: what clients call; by default the flow's ``name`` or the function's.
            title: a name for people.

        Raises:
            DefinitionError: a function's signature cannot be read.
            UsageError: the name is taken, or ``tool`` is neither flow nor function.
        """
        if tool is None:
            return partial(self._function, name=name, title=title)
        if isinstance(tool, Flow):
            flow = cast("Flow[Any]", tool)
            self._flow(flow, name or flow.name, title or flow.title)
            return None
        if inspect.isclass(tool) or not callable(tool):
            raise UsageError(
                f"server.tool takes a flow object or an async function, not {tool!r}"
                + ("; make an object of the class" if inspect.isclass(tool) else "")
            )
        return self._function(tool, name=name, title=title)

    def _flow(self, flow: Flow[Any], name: str, title: str | None) -> None:
        machine = FlowMachine(flow, name)
        results = flow.graph.results
        # Results of several types have no one schema that a client could check.
        output = output_schema(results[0], f"Tool {name}") if len(results) == 1 else None
        described = _described(name, title, flow.description())
        self._add(machine, flow.args_type, described, output)

    def _function(self, function: Function, *, name: str | None, title: str | None) -> Function:
        called = name or getattr(function, "__name__", "")
        if not called:
            raise UsageError(f"{type(function).__name__} has no name; say server.tool(name=...)")
        signature = read_signature(function, called)
        machine = FunctionMachine(called, function, signature.parameters, signature.call_parameter)
        described = _described(called, title, inspect.getdoc(function) or "")
        self._add(machine, signature.args, described, signature.output)
        return function

    def _add(
        self, machine: Machine, args: type, described: JsonObject, output: JsonObject | None
    ) -> None:
        subject = f"Tool {machine.name}"
        schema = {"additionalProperties": False, **derive(args, subject=subject)}
        check_defaults(schema, subject)
        description: JsonObject = {**described, "inputSchema": schema}
        if output is not None:
            description["outputSchema"] = output
        validator = Validator(schema, subject=f"The input schema of {machine.name}")
        read: Callable[[JsonObject], object] = builder(args, subject=subject)
        results = (
            Validator(output, subject=f"The output schema of {machine.name}") if output else None
        )
        self.add_tool(ToolEntry(machine, description, read, validator, results))


def _described(name: str, title: str | None, description: str) -> JsonObject:
    described: JsonObject = {"name": name}
    if title is not None:
        described["title"] = title
    if description:
        described["description"] = description
    return described
