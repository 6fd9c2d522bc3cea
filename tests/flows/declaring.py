"""Flows whose hints are known only to the test that declares them."""

from types import new_class
from typing import Any

from attrs import frozen

from antiphon import Flow


@frozen
class Args:
    name: str


def hinted(function: Any, **hints: Any) -> Any:
    """The function with these types; ``returns`` is that of its result, None takes one away."""
    for name, hint in hints.items():
        key = "return" if name == "returns" else name
        if hint is None:
            del function.__annotations__[key]
        else:
            function.__annotations__[key] = hint
    return function


def beginning(returns: Any) -> Any:
    """A ``begin`` with this return type."""

    async def begin(self: Any, args: Args) -> Any:
        raise NotImplementedError

    return hinted(begin, returns=returns)


def moving(at: Any, event: str, returns: Any) -> Any:
    """A handler of that event of the state ``at``."""

    async def asked(self: Any, at: Any, answer: Any) -> Any:
        raise NotImplementedError

    async def moved(self: Any, at: Any) -> Any:
        raise NotImplementedError

    handler = asked if event == "answered" else moved
    return getattr(at, event)(hinted(handler, at=at, returns=returns))


def flow_class(args: Any = Args, **members: Any) -> Any:
    """The flow class ``Wrong`` with these members; raises what a class statement raises."""
    return new_class("Wrong", (Flow[args],), exec_body=lambda body: body.update(members))
