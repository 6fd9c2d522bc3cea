"""Mistakes around a call. Each line marked ``# error`` must be refused by both checkers."""

from attrs import frozen

from antiphon import (
    Decline,
    Done,
    Flow,
    FormRequest,
    Server,
    UrlRequest,
    http_app,
    open_client,
    walk,
)


@frozen
class Args:
    name: str


class Greet(Flow[Args]):
    async def begin(self, args: Args) -> Done[str]:
        return Done(args.name)


async def answer(question: FormRequest | UrlRequest) -> Decline:
    return Decline()


async def answers_nothing(question: FormRequest | UrlRequest) -> int:
    return 3


def answers_at_once(question: FormRequest | UrlRequest) -> Decline:
    return Decline()


async def calls(server: Server) -> None:
    async with open_client(server, elicitation=answer) as client:
        await client.call_tool("greet", {"name": "Ada"}, deadline=10)
        await client.call_tool({"name": "Ada"})  # error
        await client.call_tool("greet", deadline="soon")  # error
    async with open_client(server, elicitation=answers_nothing):  # error
        pass
    async with open_client(server, elicitation=answers_at_once):  # error
        pass
    async with open_client(server, colour="red"):  # error
        pass


async def walks() -> None:
    await walk(Greet(), Args("Ada"))
    await walk(Greet(), "Ada")  # error
    await walk(Greet, Args("Ada"))  # error


http_app(Server("Mistakes"))
http_app(Greet())  # error
Server("Mistakes", keys="a single key")
Server("Mistakes", keys=[3])  # error
