"""The client actor: it calls tools, answers what they ask, and comes back with the result.

Everything that it does runs in its caller's task; nothing runs in the background. Specification:
basic/patterns/mrtr, "Client Requirements".
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, TypeVar, Unpack, cast

import attrs

from .asked_round import KINDS
from .call_errors import Kind
from .client_carriers import PROMPT_GET, RESOURCE_READ, TOOL_CALL, Carrier
from .client_messages import (
    CallToolResult,
    GetPromptResult,
    ReadResourceResult,
)
from .client_options import check_seconds
from .client_reads import ReadingClient
from .client_wire import Outgoing
from .conversation import Rounds
from .driver import Conversation, Send
from .errors import UsageError
from .jsonrpc import JsonObject
from .request_options import CallOptions, LoadOptions, ToolOptions, hearing, own_meta
from .snapshot import snapshot
from .stored import load

T = TypeVar("T")


class Client(ReadingClient):
    """A client of one server; made by ``open_client`` or ``connect_client``.

    Calls may run concurrently, from any number of tasks. Each raises, besides what its own
    documentation says: ServerError, LegTimeout, TransportLost, InvalidReply, and UsageError once
    the client is closed.
    """

    # -- calls with rounds --------------------------------------------------------------------

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, object] | None = None,
        **options: Unpack[ToolOptions],
    ) -> CallToolResult:
        """Call a tool, answering what it asks by the callbacks of this client.

        Args:
            name: the tool.
            arguments: its arguments; a copy is sent, the same in every round.
            options: see :class:`~.request_options.ToolOptions`.

        Returns:
            The complete result. A tool that failed says so by ``is_error``.

        Raises:
            SchemaUnusable, ResultInvalid: see :mod:`~.client_schemas`. A tool that this client
                has not listed, or not since its server told of a change, is not checked.
            RoundsExceeded, DeadlineExceeded, PeopleTimeout, QuestionRefused, AnswerInvalid:
                see :mod:`~.call_errors`. Whatever a callback raises passes through as it is.
        """
        return await self._tool(name, arguments, self._kinds, options).run()

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        **options: Unpack[CallOptions],
    ) -> GetPromptResult:
        """Get a prompt, answering what it asks; its arguments are texts.

        Raises:
            ServerError: there is none of that name, or it failed. Else as :meth:`call_tool`.
        """
        target = _prompt_target(name, arguments)
        return await self._conversation(PROMPT_GET, target, self._kinds, options).run()

    async def read_resource(
        self, uri: str, *, fresh: bool = False, **options: Unpack[CallOptions]
    ) -> ReadResourceResult:
        """Read a resource, answering what it asks.

        Args:
            uri: the resource.
            fresh: whether the server is asked although it has called an earlier answer fresh.
            options: see :class:`~.request_options.CallOptions`.

        Raises:
            ServerError: nothing stands behind the uri, or it failed. Else as :meth:`call_tool`.
        """

        async def read(outgoing: Outgoing) -> JsonObject:
            return await self._read(outgoing, fresh)

        target: JsonObject = {"uri": uri}
        return await self._conversation(RESOURCE_READ, target, self._kinds, options, read).run()

    def conversation(
        self,
        name: str,
        arguments: Mapping[str, object] | None = None,
        *,
        kinds: Collection[Kind] = KINDS,
        **options: Unpack[ToolOptions],
    ) -> Conversation[CallToolResult]:
        """Call a tool round by round; see :meth:`Conversation.advance`.

        Args:
            name, arguments, options: as for :meth:`call_tool`.
            kinds: the kinds of question that the caller answers, which are declared to the
                server; by default all that this client does not refuse.

        Raises:
            UsageError: the arguments or the meta cannot be sent.
            SchemaUnusable: the result could not be checked.
        """
        return self._tool(name, arguments, kinds, options)

    def prompt_conversation(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        kinds: Collection[Kind] = KINDS,
        **options: Unpack[CallOptions],
    ) -> Conversation[GetPromptResult]:
        """Get a prompt round by round, as :meth:`conversation`."""
        return self._conversation(PROMPT_GET, _prompt_target(name, arguments), kinds, options)

    def resource_conversation(
        self, uri: str, *, kinds: Collection[Kind] = KINDS, **options: Unpack[CallOptions]
    ) -> Conversation[ReadResourceResult]:
        """Read a resource round by round, as :meth:`conversation`."""
        return self._conversation(RESOURCE_READ, {"uri": uri}, kinds, options)

    def _tool(
        self,
        name: str,
        arguments: Mapping[str, object] | None,
        kinds: Collection[Kind],
        options: ToolOptions,
    ) -> Conversation[CallToolResult]:
        target, carrier = _tool_target(name, arguments), TOOL_CALL
        if options.get("check_results", self._settings.check_results):
            carrier = self._schemas.checking(TOOL_CALL, name)
        return self._conversation(carrier, target, kinds, options)

    def _conversation(
        self,
        carrier: Carrier[T],
        target: JsonObject,
        kinds: Collection[Kind],
        options: CallOptions,
        send: Send | None = None,
    ) -> Conversation[T]:
        settings = self._settings
        given = options.get("deadline")
        seconds = check_seconds("deadline", settings.deadline if given is None else given)
        rounds = Rounds(
            carrier=carrier,
            target=target,
            meta=own_meta(options.get("meta")),
            kinds=_known(kinds) - settings.refused,
            via=self._wire.transport.name,
            home=self._home,
            server=self.name,
            deadline=None if seconds == math.inf else settings.clock() + seconds,
        )
        heard = hearing(options, settings)
        return Conversation(send or self.send, settings, rounds, heard, self.give_up)

    def load(
        self, blob: bytes, *, moved: bool = False, **options: Unpack[LoadOptions]
    ) -> Conversation[Any]:
        """Go on with a conversation that was stored by :meth:`Conversation.dump`.

        Its deadline goes on too, by the wall clock. Pending questions of a kind that this
        client refuses are refused. Its result is of the type that its method has.

        Args:
            blob: the bytes.
            moved: whether the target of this client may be another than that of the client
                that stored it: the same server at another address.
            options: see :class:`~.request_options.LoadOptions`.

        Raises:
            UsageError: the target is another; nothing was sent.
            UnreadableDump: the bytes are damaged, something else, or from a newer version.
            QuestionRefused: see above.
            SchemaUnusable: the result could not be checked.
        """
        settings = self._settings
        rounds = load(
            blob,
            self._wire.transport,
            moved=moved,
            refused=settings.refused,
            limits=settings.limits,
        )
        checks = options.get("check_results", settings.check_results)
        if rounds.carrier is TOOL_CALL and checks:
            name = str(rounds.target.get(TOOL_CALL.names))
            rounds = attrs.evolve(rounds, carrier=self._schemas.checking(TOOL_CALL, name))
        heard = hearing(options, settings)
        return Conversation[Any].resumed(self.send, settings, rounds, heard, self.give_up)


def _tool_target(name: str, arguments: Mapping[str, object] | None) -> JsonObject:
    return {"name": name, "arguments": snapshot(arguments or {}, "The arguments")}


def _prompt_target(name: str, arguments: Mapping[str, str] | None) -> JsonObject:
    if arguments is None:
        return {"name": name}
    given = cast("Mapping[str, object]", arguments)
    if strange := [key for key, value in given.items() if not isinstance(value, str)]:
        raise UsageError(f"Arguments of a prompt are texts, and {strange[0]!r} is none")
    return {"name": name, "arguments": snapshot(arguments, "The arguments")}


def _known(kinds: Collection[Kind]) -> frozenset[Kind]:
    if strange := set(kinds) - set(KINDS):
        raise UsageError(f"kinds takes {', '.join(KINDS)}; not {', '.join(sorted(strange))}")
    return frozenset(kinds)
