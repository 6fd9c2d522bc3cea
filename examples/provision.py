"""Provision a database: a form, and one more question before production.

Serve it on stdio with ``python examples/provision.py``, or over HTTP with
``hypercorn -k trio examples.provision:app``. Workers that serve it together share their keys:
``ANTIPHON_KEYS="$(antiphon keygen)"``.
"""

import os
from typing import Annotated, Literal

from attrs import frozen

from antiphon import Asking, Call, Done, Failed, Flow, Form, Meta, Server, http_app, run_stdio


@frozen
class ProvisionArgs:
    name: Annotated[str, Meta(description="What the database is called", min_length=1)]


@frozen
class Database:
    name: str
    region: str


@frozen
class Region:
    name: Literal["eu-west-1", "us-east-1", "prod"]


@frozen
class Confirmed:
    sure: Literal["yes", "no"]


class Cloud:
    """Where databases live; a real one would call an API here."""

    async def create(self, name: str, region: str, *, request: str) -> Database:
        """Create a database once for each ``request``, however often that is repeated."""
        del request
        return Database(name, region)


@frozen
class ChoosingRegion(Asking[Region]):
    database: str

    def ask(self) -> Form[Region]:
        return Form(f"Which region should {self.database!r} live in?", Region)


@frozen
class ConfirmingProd(Asking[Confirmed]):
    database: str

    def ask(self) -> Form[Confirmed]:
        return Form(f"{self.database!r} will be in production. Go ahead?", Confirmed)


@frozen
class Provision(Flow[ProvisionArgs]):
    """Provision a database. Asks which region to put it in."""

    name = "provision"

    cloud: Cloud

    async def begin(self, args: ProvisionArgs) -> ChoosingRegion:
        return ChoosingRegion(args.name)

    @ChoosingRegion.answered
    async def region_chosen(
        self, at: ChoosingRegion, region: Region, call: Call[ProvisionArgs]
    ) -> ConfirmingProd | Done[Database]:
        if region.name == "prod":
            return ConfirmingProd(at.database)
        return Done(await self.cloud.create(at.database, region.name, request=call.flow_id))

    @ConfirmingProd.answered
    async def prod_confirmed(
        self, at: ConfirmingProd, reply: Confirmed, call: Call[ProvisionArgs]
    ) -> ChoosingRegion | Done[Database]:
        if reply.sure == "no":
            return ChoosingRegion(at.database)
        return Done(await self.cloud.create(at.database, "prod", request=call.flow_id))

    @ConfirmingProd.refused
    async def kept_out_of_prod(self, at: ConfirmingProd) -> Failed:
        return Failed(f"{at.database!r} was not provisioned: production was declined.")


server = Server(
    "Provisioner", version="1.0", keys=os.environ.get("ANTIPHON_KEYS", "").split() or None
)
server.tool(Provision(Cloud()))
app = http_app(server)

if __name__ == "__main__":
    run_stdio(server)
