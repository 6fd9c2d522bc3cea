"""The client actor: it calls tools, answers what they ask, and comes back with the result.

Everything that it does runs in its caller's task; nothing runs in the background. Specification:
basic/patterns/mrtr, "Client Requirements".
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeVar, Unpack

import trio

from .asked_round import KINDS, capabilities
from .call_errors import Kind, quoted
from .client_messages import CallToolResult, Discovery, Tool, ToolPage
from .client_options import ClientOptions, Settings, check_seconds
from .client_wire import Outgoing, ProgressCallback, Wire
from .conversation import TOOL_CALL, Rounds, read_complete
from .driver import Conversation
from .errors import InvalidReply, UsageError
from .exchange import ClientTransport, TransportLost
from .jsonrpc import JsonObject
from .limits import raising
from .protocol import META_PREFIX
from .snapshot import snapshot
from .stored import home_of, load

T = TypeVar("T")


class Client:
    """A client of one server; made by ``open_client`` or ``connect_client``.

    Calls may run concurrently, from any number of tasks. Each raises, besides what its own
    documentation says: ServerError, LegTimeout, TransportLost, InvalidReply, and UsageError once
    the client is closed.
    """

    def __init__(self, transport: ClientTransport, **options: Unpack[ClientOptions]) -> None:
        """Make a client of a transport that somebody else keeps open.

        Args:
            transport: what carries the requests.
            options: see :class:`~.client_options.Settings`.

        Raises:
            UsageError: an option makes no sense.
        """
        self._settings = settings = Settings(**options)
        timeout = check_seconds("leg_timeout", settings.leg_timeout)
        self._wire = Wire(transport, settings.client_info, timeout)
        self._kinds = settings.callbacks.kinds - settings.refused
        self._home = home_of(transport)
        self._closed = False
        self._closer: Callable[[], Awaitable[None]] | None = None

    @property
    def name(self) -> str:
        """How the server names itself; before its first reply, the target's name."""
        return self._wire.server or self._wire.transport.name

    async def aclose(self) -> None:
        """Close the client, and the transport where the client was connected into a nursery.

        Calls that are still running may end with TransportLost.
        """
        self.close()
        if self._closer is not None:
            await self._closer()
        else:
            await trio.lowlevel.checkpoint()

    def close(self) -> None:
        """Take no further request; for those who own the transport."""
        self._closed = True

    def close_by(self, closer: Callable[[], Awaitable[None]]) -> None:
        """Let :meth:`aclose` wait for this; for those who own the transport."""
        self._closer = closer

    # -- plain requests -----------------------------------------------------------------------

    async def discover(self) -> Discovery:
        """Ask what the server is and can do (server/discover)."""
        return await self._plain("server/discover", {}, Discovery)

    async def list_tools(self) -> list[Tool]:
        """All tools, from all pages, in the server's order.

        Raises:
            InvalidReply: the pages have no end, or more tools than limit ``listed``.
        """
        tools: list[Tool] = []
        seen: set[str] = set()
        left = self._settings.limits.listed
        cursor: str | None = None
        while True:
            params: JsonObject = {} if cursor is None else {"cursor": cursor}
            page = await self._plain("tools/list", params, ToolPage)
            tools += page.tools
            left -= max(len(page.tools), 1)
            cursor = page.next_cursor
            if cursor is None:
                return tools
            if cursor in seen:
                raise InvalidReply(
                    f"The tool list of {quoted(self.name)} leads back to an earlier page"
                )
            if left <= 0:
                raise InvalidReply(
                    f"The tool list of {quoted(self.name)} passes limit listed {raising('listed')}"
                )
            seen.add(cursor)

    async def _plain(self, method: str, params: JsonObject, kind: type[T]) -> T:
        outgoing = Outgoing(method, params, capabilities(self._kinds), {}, reads=True)
        try:
            result = await self.send(outgoing)
        except TransportLost:
            # It only reads, so that it may be asked twice; a tool call never is.
            result = await self.send(outgoing)
        return read_complete(result, kind, f"{method} of {quoted(self.name)}")

    async def send(self, outgoing: Outgoing) -> JsonObject:
        """Send one request; the result of its reply."""
        if self._closed:
            raise UsageError("This client is closed; open another one")
        return await self._wire.send(outgoing)

    # -- calls with rounds --------------------------------------------------------------------

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, object] | None = None,
        *,
        deadline: float | None = None,
        progress: ProgressCallback | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> CallToolResult:
        """Call a tool, answering what it asks by the callbacks of this client.

        Args:
            name: the tool.
            arguments: its arguments; a copy is sent, the same in every round.
            deadline: seconds for the whole call, callbacks included; None for the client's own,
                ``math.inf`` for none.
            progress: a plain function for the progress of each round; see
                :data:`~.client_wire.ProgressCallback`.
            meta: members for the ``_meta`` of every request, such as ``traceparent``.

        Returns:
            The complete result. A tool that failed says so by ``is_error``.

        Raises:
            RoundsExceeded, DeadlineExceeded, PeopleTimeout, QuestionRefused, AnswerInvalid:
                see :mod:`~.call_errors`. Whatever a callback raises passes through as it is.
        """
        conversation = self.conversation(
            name, arguments, deadline=deadline, progress=progress, meta=meta, kinds=self._kinds
        )
        return await conversation.run()

    def conversation(
        self,
        name: str,
        arguments: Mapping[str, object] | None = None,
        *,
        deadline: float | None = None,
        progress: ProgressCallback | None = None,
        meta: Mapping[str, object] | None = None,
        kinds: Collection[Kind] = KINDS,
    ) -> Conversation[CallToolResult]:
        """Call a tool round by round; see :meth:`Conversation.advance`.

        Args:
            name, arguments, deadline, progress, meta: as for :meth:`call_tool`.
            kinds: the kinds of question that the caller answers, which are declared to the
                server; by default all that this client does not refuse.

        Raises:
            UsageError: the arguments or the meta cannot be sent.
        """
        settings = self._settings
        seconds = check_seconds("deadline", settings.deadline if deadline is None else deadline)
        target: JsonObject = {"name": name, "arguments": snapshot(arguments or {}, "The arguments")}
        rounds = Rounds(
            carrier=TOOL_CALL,
            target=target,
            meta=_own_meta(meta or {}),
            kinds=_known(kinds) - settings.refused,
            via=self._wire.transport.name,
            home=self._home,
            server=self.name,
            deadline=None if seconds == math.inf else settings.clock() + seconds,
        )
        return Conversation(self.send, settings, rounds, progress)

    def load(
        self, blob: bytes, *, progress: ProgressCallback | None = None, moved: bool = False
    ) -> Conversation[CallToolResult]:
        """Go on with a conversation that was stored by :meth:`Conversation.dump`.

        Its deadline goes on too, by the wall clock. Pending questions of a kind that this
        client refuses are refused.

        Args:
            blob: the bytes.
            progress: as for :meth:`call_tool`.
            moved: whether the target of this client may be another than that of the client
                that stored it: the same server at another address.

        Raises:
            UsageError: the target is another; nothing was sent.
            UnreadableDump: the bytes are damaged, something else, or from a newer version.
            QuestionRefused: see above.
        """
        settings = self._settings
        rounds = load(
            blob,
            self._wire.transport,
            moved=moved,
            refused=settings.refused,
            limits=settings.limits,
        )
        return Conversation[CallToolResult].resumed(self.send, settings, rounds, progress)


def _own_meta(meta: Mapping[str, object]) -> JsonObject:
    if taken := [name for name in meta if name == "progressToken" or name.startswith(META_PREFIX)]:
        raise UsageError(f"meta must not hold {taken[0]!r}: the client sets it by itself")
    return snapshot(meta, "The meta")


def _known(kinds: Collection[Kind]) -> frozenset[Kind]:
    if strange := set(kinds) - set(KINDS):
        raise UsageError(f"kinds takes {', '.join(KINDS)}; not {', '.join(sorted(strange))}")
    return frozenset(kinds)
