"""The provision example, for clients of this revision only."""

from __future__ import annotations

from antiphon import Server, run_stdio
from examples.provision import Cloud, Provision


def make() -> Server:
    server = Server("Provisioner", version="1.0", handshake=False)
    server.tool(Provision(Cloud()))
    return server


if __name__ == "__main__":
    run_stdio(make())
