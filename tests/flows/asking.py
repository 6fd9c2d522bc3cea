"""Forms, and functions made at run time, for the tests of ``Ask`` parameters."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal

from attrs import frozen

from antiphon import Server
from tests.engine.peer import KEY, Peer

KEYWORD = inspect.Parameter.KEYWORD_ONLY


@frozen
class Region:
    name: Literal["eu", "us"]


@frozen
class Size:
    rows: int


@frozen
class Sure:
    sure: Literal["yes", "no"]


@frozen
class Nested:
    regions: list[Region]


EU = Region("eu")
US = Region("us")


def taking(
    names: Mapping[str, Any], body: Callable[[dict[str, Any]], Any], *, returns: Any = None
) -> Any:
    """A function of these parameters, by name, with their types; it gives what ``body`` does."""

    def made(**given: Any) -> Any:
        return body(given)

    return signed(made, names, returns)


def tool_taking(
    names: Mapping[str, Any], body: Callable[[dict[str, Any]], Any], *, returns: Any = str
) -> Any:
    """The same as a coroutine function, fit for a tool."""

    async def made(**given: Any) -> Any:
        return body(given)

    return signed(made, names, returns)


def signed(function: Any, names: Mapping[str, Any], returns: Any) -> Any:
    parameters = [inspect.Parameter(name, KEYWORD, annotation=hint) for name, hint in names.items()]
    function.__signature__ = inspect.Signature(parameters)
    function.__annotations__ = {name: hint for name, hint in names.items() if hint is not None}
    if returns is not None:
        function.__annotations__["return"] = returns
    return function


def with_tools(*functions: Any, **options: Any) -> Peer:
    """A peer of a server with these tools."""
    given: dict[str, Any] = {"version": "1.0", "keys": [KEY], **options}
    server = Server("Asking", **given)
    for function in functions:
        server.tool(function)
    return Peer(server)
