"""A server made with the official SDK: its by-hand form, its dependency form, plain tools."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, Literal

import anyio
from mcp.server.mcpserver import (
    AcceptedElicitation,
    CancelledElicitation,
    Context,
    DeclinedElicitation,
    Elicit,
    ElicitationResult,
    ListRoots,
    MCPServer,
    RequestStateSecurity,
    Resolve,
    Sample,
)
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
    ListRootsResult,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel, Field

KEY: Final = "a key that every server of these tests has"


class Database(BaseModel):
    name: str
    region: str


class Region(BaseModel):
    """Where to put it."""

    region: Literal["eu-west-1", "us-east-1", "prod"] = Field(description="The region")


class Sure(BaseModel):
    sure: bool


class Profile(BaseModel):
    name: str = Field(min_length=2, max_length=20, title="Your name")
    age: int = Field(ge=0, le=150)
    height: float | None = None
    colours: list[Literal["red", "green", "blue"]] = ["red"]
    newsletter: bool = False


# -- by hand -----------------------------------------------------------------------------------


def _form(message: str, model: type[BaseModel]) -> ElicitRequest:
    schema = model.model_json_schema()
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def _answer(ctx: Context[Any, Any], key: str) -> ElicitResult:
    answer = (ctx.input_responses or {}).get(key)
    if not isinstance(answer, ElicitResult):
        raise ToolError(f"no answer to {key}")
    return answer


async def by_hand(name: str, ctx: Context[Any, Any]) -> Database | InputRequiredResult:
    """Provision a database: a region, and a confirmation before production."""
    if ctx.request_state is None:
        return InputRequiredResult(
            input_requests={"region": _form(f"Which region for {name!r}?", Region)},
            request_state=json.dumps({"step": "region"}),
        )
    at: dict[str, str] = json.loads(ctx.request_state)
    answer = _answer(ctx, at["step"])
    if answer.action != "accept":
        raise ToolError(f"Nothing was provisioned: {answer.action} at {at['step']}.")
    if at["step"] == "sure":
        return Database(name=name, region=at["region"])
    region = Region.model_validate(answer.content).region
    if region != "prod":
        return Database(name=name, region=region)
    return InputRequiredResult(
        input_requests={"sure": _form("This is production. Go ahead?", Sure)},
        request_state=json.dumps({"step": "sure", "region": region}),
    )


async def by_link(ctx: Context[Any, Any]) -> str | InputRequiredResult:
    """Sign in on a page."""
    if ctx.request_state is None:
        params = ElicitRequestURLParams(message="Sign in", url="https://example.org/sign-in")
        return InputRequiredResult(
            input_requests={"link": ElicitRequest(params=params)}, request_state="asked"
        )
    return _answer(ctx, "link").action


async def by_waiting(ctx: Context[Any, Any]) -> str | InputRequiredResult:
    """Not ready until the third look."""
    looks = int(ctx.request_state or 0)
    await ctx.report_progress(looks, 3, f"look {looks}")
    if looks == 3:
        return "ready"
    return InputRequiredResult(request_state=str(looks + 1))


async def without_end(ctx: Context[Any, Any]) -> str | InputRequiredResult:
    """Ask the same thing for ever."""
    return InputRequiredResult(input_requests={"more": _form("More?", Sure)}, request_state="more")


# -- by dependencies ---------------------------------------------------------------------------


async def choose_region(name: str) -> Elicit[Region]:
    return Elicit(f"Which region for {name!r}?", Region)


async def confirm_prod(
    chosen: Annotated[Region, Resolve(choose_region)],
) -> Elicit[Sure] | AcceptedElicitation[Sure]:
    if chosen.region == "prod":
        return Elicit("This is production. Go ahead?", Sure)
    return AcceptedElicitation(data=Sure(sure=True))


async def by_dependency(
    name: str,
    chosen: Annotated[Region, Resolve(choose_region)],
    confirmed: Annotated[Any, Resolve(confirm_prod)],
) -> Database:
    """Provision a database: a region, and a confirmation before production."""
    del confirmed
    return Database(name=name, region=chosen.region)


async def ask_sure() -> Elicit[Sure]:
    return Elicit("Sure?", Sure)


async def by_outcome(sure: Annotated[ElicitationResult[Sure], Resolve(ask_sure)]) -> str:
    """Tell what became of a question."""
    match sure:
        case AcceptedElicitation():
            return f"accepted: {sure.data.sure}"
        case DeclinedElicitation():
            return "declined"
        case CancelledElicitation():
            return "cancelled"


async def ask_model() -> Sample:
    content = TextContent(type="text", text="Is this change risky?")
    return Sample([SamplingMessage(role="user", content=content)], max_tokens=50)


async def ask_roots() -> ListRoots:
    return ListRoots()


async def ask_profile() -> Elicit[Profile]:
    return Elicit("Who are you?", Profile)


async def by_everything(
    opinion: Annotated[CreateMessageResult, Resolve(ask_model)],
    listed: Annotated[ListRootsResult, Resolve(ask_roots)],
    profile: Annotated[Profile, Resolve(ask_profile)],
) -> list[str]:
    """Ask a model, for roots, and a person, in one round."""
    assert isinstance(opinion.content, TextContent)
    roots = [str(root.uri) for root in listed.roots]
    return [opinion.content.text, *roots, profile.model_dump_json()]


# -- plain tools -------------------------------------------------------------------------------


async def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


async def echo(text: str) -> str:
    """Say it again."""
    return text


async def count(to: int, ctx: Context[Any, Any]) -> int:
    """Count aloud."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to, f"number {number}")
    return to


async def fail(how: Literal["told", "untold"]) -> str:
    """Fail in one way or the other."""
    if how == "told":
        raise ToolError("The tide is out.")
    raise RuntimeError("a secret of the server")


def make() -> MCPServer[Any]:
    """A server with all of these, and a state of its own."""
    server = MCPServer(
        "Theirs",
        version="3.1",
        instructions="Ask away.",
        log_level="CRITICAL",
        request_state_security=RequestStateSecurity(keys=[KEY]),
    )
    freed = anyio.Event()

    async def hang(ctx: Context[Any, Any]) -> str:
        """Begin, and wait for ever."""
        try:
            await ctx.report_progress(1)
            while True:
                await anyio.sleep_forever()
        finally:
            freed.set()

    async def until_freed() -> str:
        """Wait until a call of `hang` was cancelled."""
        await freed.wait()
        return "freed"

    for tool in (
        *(by_hand, by_link, by_waiting, without_end),
        *(by_dependency, by_outcome, by_everything),
        *(add, echo, count, fail, hang, until_freed),
    ):
        server.add_tool(tool)
    return server


if __name__ == "__main__":
    make().run("stdio")
