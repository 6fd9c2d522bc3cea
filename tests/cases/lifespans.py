"""A server with a lifespan that writes down what happens, for the tests of all transports."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import trio
from attrs import define, field

from antiphon import Call, Server


@define(eq=False)
class Database:
    """What the lifespan opens."""

    number: int
    open: bool = True


@define
class Life:
    """A server, and what happened to it, in order.

    Attributes:
        before: raised where the lifespan begins.
        after: raised where it ends.
    """

    events: list[str] = field(factory=list[str])
    opened: list[Database] = field(factory=list[Database])
    before: Exception | None = None
    after: Exception | None = None
    reached: trio.Event = field(factory=trio.Event)
    server: Server = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.server = Server("Living", lifespan=self.lifespan)
        self.server.tool(self._use())
        self.server.tool(self._linger())

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[Database, None]:
        """Open the database."""
        if self.before is not None:
            raise self.before
        database = Database(len(self.opened) + 1)
        self.opened.append(database)
        self.events.append("opened")
        try:
            yield database
        finally:
            database.open = False
            self.events.append("closed")
        if self.after is not None:
            raise self.after

    def _use(self) -> Any:
        async def use(call: Call[Any]) -> str:
            database = call.lifespan(Database)
            assert database.open
            self.events.append("used")
            return f"database {database.number}"

        return use

    def _linger(self) -> Any:
        async def linger(call: Call[Any]) -> str:
            database = call.lifespan(Database)
            self.reached.set()
            try:
                await trio.sleep_forever()
            finally:
                with trio.CancelScope(shield=True):
                    await trio.lowlevel.checkpoint()
                self.events.append("ended" if database.open else "ended too late")

        return linger
