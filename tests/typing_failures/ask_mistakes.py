"""Mistakes around ``Ask`` parameters. Each line marked ``# error`` must be refused by both
checkers."""

from typing import Annotated, Literal

from attrs import frozen

from antiphon import Form, Server, walk
from antiphon.engine.questions import Given, Refusal
from antiphon.flows.asks import Ask, flow_of


@frozen
class Region:
    name: Literal["eu", "us"]


@frozen
class Sure:
    sure: bool


def whether_sure(region: Region, name: str) -> Form[Sure]:
    return Form(f"Create {name} in {region.name}?", Sure)


def asks_for_another(region: Region) -> Form[Sure]:
    return Form("Where?", Region)  # error


async def create(
    name: str,
    region: Annotated[Region, Ask("Where should it live?")],
    sure: Annotated[Sure, Ask(whether_sure)],
    again: Annotated[Sure, Ask(lambda region, name: Form(f"{name} {region.name}?", Sure))],
    where: Annotated[Given[Region] | Refusal, Ask(lambda: Form("Where?", Region))],
) -> str:
    region.sure  # error
    sure.name  # error
    where.value  # error
    if isinstance(where, Given):
        where.value.sure  # error
        return where.value.name
    return f"{name} {region.name} {sure.sure} {again.sure} {where.how}"


def at_once(region: Annotated[Region, Ask("Where?")]) -> str:
    return region.name


async def calls() -> None:
    given = Given(Region("eu"))
    await create("orders", Region("eu"), Sure(True), Sure(True), given)
    await create("orders")  # error
    await create("orders", Sure(True), Sure(True), Sure(True), given)  # error


async def walks() -> None:
    await walk(flow_of(create), {"name": "orders"})
    await walk(flow_of(create))  # error
    await walk(flow_of(create), "orders")  # error
    await walk(create, {"name": "orders"})  # error
    flow_of(at_once)  # error
    flow_of(create).begin()  # error


Ask(3)  # error
Ask()  # error
Ask("Where?", Region)  # error
server = Server("Mistakes")
server.tool(create)
server.tool(at_once)  # error
