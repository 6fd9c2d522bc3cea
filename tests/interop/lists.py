"""Whole lists, page by page, as a client of the official SDK gets them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from mcp import Client
from mcp_types import PaginatedResult, Prompt, Resource, ResourceTemplate, Tool

P = TypeVar("P", bound=PaginatedResult)


async def pages(listing: Callable[..., Awaitable[P]]) -> list[P]:
    """All pages of a list, such as ``pages(client.list_tools)``."""
    found = [await listing()]
    while (cursor := found[-1].next_cursor) is not None:
        found.append(await listing(cursor=cursor))
    return found


async def all_tools(client: Client) -> list[Tool]:
    return [tool for page in await pages(client.list_tools) for tool in page.tools]


async def all_prompts(client: Client) -> list[Prompt]:
    return [prompt for page in await pages(client.list_prompts) for prompt in page.prompts]


async def all_resources(client: Client) -> list[Resource]:
    return [found for page in await pages(client.list_resources) for found in page.resources]


async def all_templates(client: Client) -> list[ResourceTemplate]:
    found = await pages(client.list_resource_templates)
    return [template for page in found for template in page.resource_templates]


def wire(model: Any) -> Any:  # whatever JSON it stands for
    """What a model of the SDK stands for."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
