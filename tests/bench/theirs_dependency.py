"""The measured flow with a dependency parameter of the official SDK: a resolver asks."""

import os
from dataclasses import dataclass
from typing import Annotated, Literal

from mcp.server.mcpserver import Elicit, MCPServer, RequestStateSecurity, Resolve
from pydantic import BaseModel

server = MCPServer(
    "Provisioner",
    version="1.0",
    log_level="WARNING",
    request_state_security=RequestStateSecurity(keys=[os.environ["BENCH_KEY"]]),
)


@dataclass
class Database:
    name: str
    region: str


class Region(BaseModel):
    region: Literal["eu-west-1", "us-east-1", "prod"]


async def choose_region(name: str) -> Elicit[Region]:
    return Elicit(f"Which region should {name!r} live in?", Region)


@server.tool()
async def provision(name: str, chosen: Annotated[Region, Resolve(choose_region)]) -> Database:
    """Provision a database. Asks which region to put it in."""
    return Database(name, chosen.region)


if __name__ == "__main__":
    server.run("stdio")
else:
    app = server.streamable_http_app()
