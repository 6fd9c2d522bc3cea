"""A server whose lists and discovery no revision knows, as a module, a child and a site."""

from typing import Any, cast

from antiphon import Call, Server, http_app, run_stdio

FAULT = "cacheScope"

# The types forbid it; what else could make a server wrong that is used as it should be?
server = Server("Wrong", keys=["k" * 32], list_scope=cast(Any, "everybody"))


@server.tool
async def mumble(call: Call[Any]) -> str:
    """Tell of progress in a way that no revision knows."""
    await call.progress(1, 2, cast(str, 3))
    return "mumbled"


app = http_app(server)

if __name__ == "__main__":
    run_stdio(server)
