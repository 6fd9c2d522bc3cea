"""A server whose lists and discovery no revision knows, as a module, a child and a site."""

from typing import Any

from antiphon import Call, Server, http_app, run_stdio
from antiphon.engine.jsonrpc import Notification

FAULT = "cacheScope"

# What is used as it should be is held to the schema; only from inside can a server be made wrong.
server = Server("Wrong", keys=["k" * 32])
server._caching["cacheScope"] = "everybody"  # pyright: ignore[reportPrivateUsage]


@server.tool
async def mumble(call: Call[Any]) -> str:
    """Tell of progress in a way that no revision knows."""
    notify = call._notify  # pyright: ignore[reportPrivateUsage]
    assert notify is not None
    token = call.meta.get("progressToken")
    wrong = {"progressToken": token, "progress": 1, "total": 2, "message": 3}
    await notify(Notification("notifications/progress", wrong))
    return "mumbled"


app = http_app(server)

if __name__ == "__main__":
    run_stdio(server)
