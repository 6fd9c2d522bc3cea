"""What the guide shows, typed as the guide types it: strict checkers take all of it as it is.

The programs that they must refuse are in ``tests/typing_failures``.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal, TypedDict, assert_type

from attrs import frozen

from antiphon import (
    Annotations,
    Call,
    Complete,
    Completion,
    Done,
    Failed,
    Form,
    Given,
    Incoming,
    InputRequired,
    Invalid,
    LowLevelServer,
    Meta,
    PromptMessage,
    Refusal,
    ResourceContents,
    Server,
    Structured,
    ToolAnnotations,
    assistant,
    header,
    open_client,
    user,
)
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import JsonObject, Reply, Request
from antiphon.engine.middleware import Proceed


@frozen
class Database:
    rows: int = 3


@asynccontextmanager
async def database() -> AsyncGenerator[Database, None]:
    yield Database()


async def audit(request: Request, exchange: Exchange, proceed: Proceed) -> Reply:
    return await proceed(request, exchange)


server = Server("Depot", version="1.0", lifespan=database, middleware=[audit])

# -- tools ------------------------------------------------------------------------------------


@server.tool
async def stock(item: str, call: Call) -> str:
    await call.progress(1, 2, "looking")
    await call.message("info", {"item": item})
    rows = assert_type(call.lifespan(Database).rows, int)
    assert_type(call.args, Any)
    return f"{rows} {item}: {call.trace.headers()}"


@server.tool(annotations=ToolAnnotations(read_only=True), needs={"sampling": {}})
async def shelves(
    region: Annotated[str, header("Region"), Meta(description="Where")] = "eu",
) -> Structured[list[str]]:
    return Structured([region])


@frozen
class Sure:
    sure: bool


@server.tool(state_version=2)
async def remove(path: str, call: Call) -> str | InputRequired:
    sure = Form(f"Remove {path}?", Sure)
    match call.answer("sure", sure):
        case Given(answer) if answer.sure:
            return "gone"
        case Given() | Refusal():
            return "kept"
        case Invalid() | None:
            return InputRequired({"sure": sure}, state={"asked": call.round})


@frozen
class Arguments:
    item: str


async def typed(call: Call[Arguments]) -> str:
    return assert_type(call.args.item, str) + await stock("bolts", call)


# -- prompts and resources --------------------------------------------------------------------


async def authors(value: str, others: Mapping[str, str]) -> list[str]:
    return [value, *others]


async def topics(value: str, others: Mapping[str, str], call: Call) -> Completion:
    call.require({"sampling": {}})
    return Completion([value, *others], total=5)


@server.prompt(title="Review")
async def review(
    author: Annotated[str, Complete(authors)],
    topic: Annotated[str, Complete(topics)] = "",
    tone: Literal["dry", "warm"] = "dry",
) -> list[PromptMessage] | Failed:
    return [user(f"{author} {topic} {tone}"), assistant("Yes.")] if author else Failed("Who?")


@server.resource("depot://all", mime_type="text/plain", annotations=Annotations(["user"]))
async def everything(call: Call) -> list[ResourceContents]:
    return [ResourceContents(b"", uri=f"depot://{call.round}")]


@server.resource_template("depot://{item}{?page}", ttl_ms=3)
async def one(item: str, page: int = 1) -> dict[str, int]:
    return {item: page}


# -- whole methods ----------------------------------------------------------------------------

gateway = LowLevelServer("Gateway", version="1.0", capabilities={"tools": {}})


@gateway.method("tools/list")
async def tools_list(request: Incoming) -> dict[str, Any]:
    tool = {"name": "count", "inputSchema": {"type": "object"}}
    return {"resultType": "complete", "tools": [tool], "ttlMs": 0, "cacheScope": "private"}


@gateway.method("tools/call")
async def tools_call(request: Incoming) -> JsonObject:
    request.call().require({"sampling": {}})
    return {"content": []}


class Placed(TypedDict):
    placed: int


@server.method("com.example/bids/place")
async def place(request: Incoming) -> Placed:
    return Placed(placed=5)


@server.method("com.example/bids/look")
async def look(request: Incoming) -> dict[str, int]:
    return {"placed": 5}


# -- what is registered stays what it was -----------------------------------------------------


async def use() -> None:
    assert_type(await stock("bolts", Call(None)), str)
    assert_type(await one("bolts", page=2), dict[str, int])
    async with open_client(server) as client:
        assert_type((await client.call_tool("stock", {"item": "bolts"})).text, str)


def done() -> Done[str]:
    return Done("done")
