"""Mistakes around servers and calls. Each line marked ``# error`` must be refused by both
checkers."""

from typing import Any

from attrs import frozen

from antiphon import Call, Incoming, LowLevelServer, Server

server = Server("Mistakes")
gateway = LowLevelServer("Mistakes")


@frozen
class Arguments:
    item: str


async def typed(call: Call[Arguments]) -> None:
    call.args.item.upper()
    call.args.colour  # error


async def untyped(call: Call) -> None:
    call.args.colour
    call.no_such_thing  # error
    await call.message("loud", "text")  # error


def at_once(request: Incoming) -> dict[str, Any]:
    return {}


async def by_number(request: int) -> dict[str, Any]:
    return {}


async def by_place(request: Incoming) -> list[str]:
    return []


async def nothing(request: Incoming) -> None: ...


gateway.method("com.example/do")(at_once)  # error
gateway.method("com.example/do")(by_number)  # error
gateway.method("com.example/do")(by_place)  # error
gateway.method("com.example/do")(nothing)  # error
server.tool(state_version="2")  # error
