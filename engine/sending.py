"""Having one request of a caller served: its tries, and what transports repeat of its arguments.

Specification: basic/transports/streamable-http, "Client Behavior".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
from attrs import define, field

from .call_errors import ServerError, quoted
from .client_messages import Tool, ToolPage
from .client_wire import Outgoing, Wire
from .conversation import read_complete
from .errors import HEADER_MISMATCH, CallError, DefinitionError
from .exchange import Mirroring
from .jsonrpc import JsonObject
from .limits import Limits
from .listing import Listing, Page
from .mirrored import Mirrored
from .retrying import Attempts, RetryPolicy
from .tool_memory import ToolMemory


@define
class Sender:
    """Sends what a client has to say.

    Attributes:
        wire: carries each request once.
        retry: when one is sent again; None for never.
        limits: what is taken from the server.
        changed: is told of a tool that turns out to be another than was known.
    """

    wire: Wire
    retry: RetryPolicy | None
    limits: Limits
    changed: Callable[[Tool], None]
    _tools: ToolMemory = field(factory=ToolMemory)

    def listed(self, tools: Sequence[Tool]) -> list[Tool]:
        """Remember tools as they are listed now; those that can be used over this transport."""
        transport = self.wire.transport
        strict = isinstance(transport, Mirroring) and transport.mirrors
        return [tool for tool in tools if self._tools.take(tool, strict=strict)]

    async def send(self, outgoing: Outgoing) -> JsonObject:
        """Send a request; the result of its reply.

        A call of a tool that the server refuses for its headers is sent once more where the tool
        turns out to want others. Such a refusal comes before anything runs.

        Raises:
            CallError: see :meth:`Wire.send`; the last one, where there were several tries.
            UsageError: an argument cannot be repeated in a header; nothing was sent.
        """
        attempts = Attempts(self.retry)
        name = outgoing.params.get("name") if outgoing.method == "tools/call" else None
        if not isinstance(name, str):
            return await self._tried(outgoing, attempts)
        mirrored = self._tools.mirrored(name)
        call = attrs.evolve(outgoing, mirrored=mirrored) if mirrored else outgoing
        try:
            return await self._tried(call, attempts)
        except ServerError as refusal:
            if refusal.code != HEADER_MISMATCH:
                raise
            wanted = await self._wanted(name, call, attempts, refusal)
        return await self._tried(attrs.evolve(call, mirrored=wanted), attempts)

    async def _tried(self, outgoing: Outgoing, attempts: Attempts) -> JsonObject:
        what = f"{outgoing.method} of {self.wire.transport.name}"
        return await attempts.run(lambda: self.wire.send(outgoing), what, reads=outgoing.reads)

    async def _wanted(
        self, name: str, call: Outgoing, attempts: Attempts, refusal: ServerError
    ) -> tuple[Mirrored, ...]:
        """The parameters that a tool wants repeated, other ones than a call of it has repeated.

        Raises:
            ServerError: the refusal, where the server's list does not explain it.
        """
        try:
            tool = await self._looked_up(name, call, attempts)
        except CallError as error:
            raise refusal from error
        known = () if tool is None else self._tools.learn(tool)
        if isinstance(known, DefinitionError):
            refusal.add_note(str(known))
            raise refusal
        if tool is None or known == call.mirrored:
            raise refusal
        self.changed(tool)
        return known

    async def _looked_up(self, name: str, call: Outgoing, attempts: Attempts) -> Tool | None:
        # Not from what is cached: that is what has been contradicted.
        async def fetch(cursor: str | None) -> Page[Tool]:
            params: JsonObject = {} if cursor is None else {"cursor": cursor}
            listing = Outgoing("tools/list", params, call.capabilities, {}, reads=True)
            result = await self._tried(listing, attempts)
            page = read_complete(result, ToolPage, f"tools/list of {server}")
            return page.tools, page.next_cursor

        server = quoted(self.wire.server or self.wire.transport.name)
        async for tool in Listing(fetch, self.limits, f"The tool list of {server}"):
            if tool.name == name:
                return tool
        return None
