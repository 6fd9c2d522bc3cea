"""The measured flow by hand in the official SDK: the tool returns ``InputRequiredResult``."""

import json
import os
from dataclasses import dataclass
from typing import Any, Literal

from mcp.server.mcpserver import Context, MCPServer, RequestStateSecurity
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
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


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string", "enum": ["eu-west-1", "us-east-1", "prod"]}},
    "required": ["region"],
}


@server.tool()
async def provision(name: str, ctx: Context) -> Database | InputRequiredResult:
    """Provision a database. Asks which region to put it in."""
    answer = (ctx.input_responses or {}).get("region")
    if ctx.request_state is None or not isinstance(answer, ElicitResult):
        return ask(name)
    if answer.action != "accept":
        raise ValueError("Nothing was provisioned: no region was chosen.")
    database: str = json.loads(ctx.request_state)["database"]
    return Database(database, Region.model_validate(answer.content).region)


def ask(database: str) -> InputRequiredResult:
    params = ElicitRequestFormParams(
        message=f"Which region should {database!r} live in?", requested_schema=SCHEMA
    )
    return InputRequiredResult(
        input_requests={"region": ElicitRequest(params=params)},
        request_state=json.dumps({"database": database}),
    )


if __name__ == "__main__":
    server.run("stdio")
else:
    app = server.streamable_http_app()
