"""A server made with the official SDK: prompts, resources, completion."""

from __future__ import annotations

import json
from typing import Any, Final

from mcp.server.caching import CacheHint
from mcp.server.mcpserver import Context, MCPServer, RequestStateSecurity
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.prompts.base import AssistantMessage, Message, UserMessage
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    PromptReference,
    ResourceTemplateReference,
    TextResourceContents,
)
from pydantic import BaseModel, Field

from tests.interop.theirs import KEY
from tests.interop.theirs_telling import WatchedBus, add_changes, add_notices

COVER: Final = bytes(range(256)) * 512
"""What is no text, and larger than a pipe takes at once."""

MINUTE: Final = CacheHint(ttl_ms=60_000, scope="private")


class Month(BaseModel):
    month: int = Field(ge=1, le=12)


class Pin(BaseModel):
    pin: str = Field(min_length=4, max_length=4)


class Agreed(BaseModel):
    agreed: bool


def _form(message: str, model: type[BaseModel]) -> ElicitRequest:
    schema = model.model_json_schema()
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def _asking(state: Any, **questions: ElicitRequest) -> InputRequiredResult:
    return InputRequiredResult(
        input_requests=dict(questions), request_state=None if state is None else json.dumps(state)
    )


def _answer(ctx: Context[Any, Any], key: str) -> ElicitResult | None:
    answer = (ctx.input_responses or {}).get(key)
    return answer if isinstance(answer, ElicitResult) else None


# -- prompts -----------------------------------------------------------------------------------


async def greet(name: str, tone: str = "friendly") -> str:
    """Greet somebody."""
    return f"Greet {name} in a {tone} tone."


async def illustrated() -> list[Message]:
    """Messages of both sides, with all kinds of content."""
    text = TextResourceContents(uri="shelf://dune", text="Spice.", mime_type="text/plain")
    return [
        UserMessage("What is this?"),
        UserMessage(ImageContent(type="image", data="AAEC", mime_type="image/png")),
        UserMessage(EmbeddedResource(type="resource", resource=text)),
        AssistantMessage("A book."),
    ]


async def plan(city: str, ctx: Context[Any, Any]) -> str | InputRequiredResult:
    """Plan a journey: a month, and a confirmation in winter; it tells how far it is."""
    if ctx.request_state is None:
        await ctx.report_progress(1, 3, "asking for a month")
        return _asking({"step": "month"}, month=_form(f"When do you go to {city}?", Month))
    at = json.loads(ctx.request_state)
    answer = _answer(ctx, at["step"])
    if answer is None or answer.action != "accept":
        return f"Do not plan a journey to {city}."
    month = at.get("month") or Month.model_validate(answer.content).month
    if at["step"] == "month" and month in {12, 1, 2}:
        await ctx.report_progress(2, 3, "asking for a confirmation")
        return _asking(
            {"step": "cold", "month": month}, cold=_form(f"{city} is cold then. Go?", Agreed)
        )
    await ctx.report_progress(3, 3, "planned")
    return f"Plan a journey to {city} in month {month}."


async def broken() -> str:
    """Fail."""
    raise RuntimeError("a secret of the server")


# -- resources ---------------------------------------------------------------------------------


async def catalogue() -> str:
    """What there is."""
    return "# Größe 名前"


async def cover() -> bytes:
    """A picture."""
    return COVER


async def book(name: str) -> str:
    """A book of the shelf."""
    if name == "missing":
        raise ResourceNotFoundError("There is no such book.")
    if name == "burnt":
        raise ResourceError("It is burnt.")
    return f"The text of {name}."


async def vault(name: str, ctx: Context[Any, Any]) -> str | InputRequiredResult:
    """What lies in a vault: it takes a form and a link, in one round."""
    pin, link = _answer(ctx, "pin"), _answer(ctx, "link")
    if pin is None or link is None:
        params = ElicitRequestURLParams(message="Show who you are", url="https://example.org/id")
        return _asking({}, pin=_form(f"The PIN of {name}?", Pin), link=ElicitRequest(params=params))
    if pin.action != "accept" or link.action != "accept":
        return f"{name} stays closed: {pin.action}, {link.action}"
    assert pin.content is not None
    return f"{name} was opened by {pin.content['pin']}"


async def queue(name: str, ctx: Context[Any, Any]) -> str | InputRequiredResult:
    """Not ready until the third look."""
    looks = int(ctx.request_state or 0)
    if looks == 3:
        return f"{name} is ready"
    return InputRequiredResult(request_state=str(looks + 1))


# -- completion --------------------------------------------------------------------------------

CITIES: Final = ["Bergen", "Berlin", "Bern", "Bonn"]


async def complete(
    ref: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,
) -> Completion | None:
    """Cities for the prompt; for the template, what else was filled in."""
    if isinstance(ref, PromptReference):
        found = [city for city in CITIES if city.startswith(argument.value)]
        return Completion(values=found[:2], total=len(found), has_more=len(found) > 2)
    others = (context and context.arguments) or {}
    return Completion(
        values=[f"{ref.uri} {argument.name}", *(f"{k}={v}" for k, v in others.items())]
    )


def make() -> MCPServer[Any]:
    """A server with all of these, and with what tells of itself and changes."""
    watched = WatchedBus()
    server = MCPServer(
        "Carriers",
        log_level="CRITICAL",
        request_state_security=RequestStateSecurity(keys=[KEY]),
        cache_hints={"resources/read": MINUTE, "tools/list": MINUTE},
        subscriptions=watched,
    )
    for prompt in (greet, illustrated, plan, broken):
        server.prompt()(prompt)
    server.resource("shelf://catalogue", mime_type="text/markdown")(catalogue)
    server.resource("shelf://cover", mime_type="image/png")(cover)
    server.resource("shelf://books/{name}")(book)
    server.resource("vault://{name}")(vault)
    server.resource("queue://{name}")(queue)
    server.completion()(complete)  # type: ignore[no-untyped-call]  # it has no annotation
    add_notices(server)
    add_changes(server, watched)
    return server


if __name__ == "__main__":
    make().run("stdio")
