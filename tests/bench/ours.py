"""The measured flow as Antiphon says it: a server on stdio, or an application for hypercorn."""

import os
from typing import Literal

from attrs import frozen

from antiphon import Asking, Done, Flow, Form, Server


@frozen
class ProvisionArgs:
    name: str


@frozen
class Database:
    name: str
    region: str


@frozen
class Region:
    region: Literal["eu-west-1", "us-east-1", "prod"]


@frozen
class ChoosingRegion(Asking[Region]):
    database: str

    def ask(self) -> Form[Region]:
        return Form(f"Which region should {self.database!r} live in?", Region)


@frozen
class Provision(Flow[ProvisionArgs]):
    """Provision a database. Asks which region to put it in."""

    name = "provision"

    async def begin(self, args: ProvisionArgs) -> ChoosingRegion:
        return ChoosingRegion(args.name)

    @ChoosingRegion.answered
    async def region_chosen(self, at: ChoosingRegion, chosen: Region) -> Done[Database]:
        return Done(Database(at.database, chosen.region))


server = Server("Provisioner", version="1.0", keys=[os.environ["BENCH_KEY"]])
server.tool(Provision())

# As an author of either would, who imports the one that is used.
if __name__ == "__main__":
    from antiphon import run_stdio

    run_stdio(server)
else:
    from antiphon import http_app

    app = http_app(server)
