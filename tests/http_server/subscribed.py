"""What the hypercorn processes of the tests of subscriptions serve."""

from hypercorn.typing import ASGIFramework

from antiphon import Server, http_app

server = Server("subscribed", keys=["a-key-that-nobody-would-ever-guess-0001"])


@server.tool
async def change() -> str:
    """Change the list of tools, as far as anybody can tell."""
    server.tools_changed()
    return "changed"


app: ASGIFramework = http_app(server)
