"""A server whose list of tools can be changed, and which can be made to die, as a program."""

import os

from antiphon import Server

server = Server("watched child")


@server.tool
async def change() -> str:
    """Change the list of tools, as far as anybody can tell."""
    server.tools_changed()
    return "changed"


@server.tool
async def die() -> str:
    """Die without a word."""
    os._exit(3)


@server.tool
async def end() -> str:
    """End every subscription."""
    server.subscriptions.close()
    return "ended"


def main() -> None:
    # As late as in a program of a user.
    from antiphon import run_stdio

    run_stdio(server)


if __name__ == "__main__":
    main()
