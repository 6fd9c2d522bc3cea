"""Who answers for a client of the official SDK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from attrs import define, field
from mcp.client.context import ClientRequestContext
from mcp_types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    ListRootsResult,
    Root,
    TextContent,
)

DECLINE: Final = ElicitResult(action="decline")
CANCEL: Final = ElicitResult(action="cancel")
AGREE: Final = ElicitResult(action="accept")


def accept(**content: Any) -> ElicitResult:
    """A form that was filled in."""
    return ElicitResult(action="accept", content=content)


@define
class Person:
    """Answers one question after the other, and remembers them."""

    answers: list[ElicitResult]
    asked: list[ElicitRequestParams] = field(factory=list[ElicitRequestParams], init=False)

    async def __call__(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult:
        self.asked.append(params)
        return self.answers.pop(0)

    @property
    def messages(self) -> list[str]:
        return [params.message for params in self.asked]


def person(*answers: ElicitResult) -> Person:
    return Person(list(answers))


def properties(params: ElicitRequestParams) -> dict[str, Any]:
    """The fields of a form as they were asked for."""
    assert isinstance(params, ElicitRequestFormParams)
    return cast("dict[str, Any]", params.requested_schema["properties"])


def model(text: str) -> Callable[..., Any]:
    """A language model that always says the same."""

    async def sample(
        context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult:
        return CreateMessageResult(
            role="assistant", content=TextContent(type="text", text=text), model="parrot"
        )

    return sample


async def list_roots(context: ClientRequestContext) -> ListRootsResult:
    """Two roots, one with a name."""
    roots = [{"uri": "file:///home/ada"}, {"uri": "file:///srv", "name": "Server"}]
    return ListRootsResult(roots=[Root.model_validate(root) for root in roots])
