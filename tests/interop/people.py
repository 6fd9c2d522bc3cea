"""Who answers for a client of the official SDK."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

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
