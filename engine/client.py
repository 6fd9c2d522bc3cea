"""The client actor: it calls tools, answers what they ask, and comes back with the result.

Everything that it does runs in its caller's task; nothing runs in the background. Specification:
basic/patterns/mrtr, "Client Requirements".
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, Final, TypedDict, TypeVar, Unpack, cast

import attrs

from .asked_round import KINDS
from .call_errors import Kind
from .client_carriers import PROMPT_GET, RESOURCE_READ, TOOL_CALL, Carrier
from .client_messages import (
    CallToolResult,
    GetPromptResult,
    ReadResourceResult,
)
from .client_options import check_plain, check_seconds
from .client_reads import ReadingClient
from .client_wire import Outgoing
from .conversation import Rounds
from .driver import Conversation, Send
from .errors import UsageError
from .hearing import Hearing, LogCallback, ProgressCallback
from .jsonrpc import JsonObject
from .protocol import (
    LOG_LEVELS,
    META_CAPABILITIES,
    META_CLIENT,
    META_LOG_LEVEL,
    META_VERSION,
    LogLevel,
)
from .snapshot import snapshot
from .stored import load

T = TypeVar("T")

_OWN_META: Final = frozenset(
    {"progressToken", META_VERSION, META_CLIENT, META_CAPABILITIES, META_LOG_LEVEL}
)
"""Members of ``_meta`` that the client sets. Others with the protocol's prefix are those of its
extensions (basic/index, "_meta")."""


class HearOptions(TypedDict, total=False):
    """Who hears what a server says during a call."""

    progress: ProgressCallback | None
    """A plain function for the progress of each round; see :data:`~.hearing.ProgressCallback`."""
    log: LogCallback | None
    """A plain function for log messages, in place of the client's own."""
    log_level: LogLevel
    """From which level on log messages are asked for, in place of the client's own."""


class CallOptions(HearOptions, total=False):
    """What may be said of one call."""

    deadline: float | None
    """Seconds for the whole call, callbacks included; None for the client's own, ``math.inf``
    for none."""
    meta: Mapping[str, object] | None
    """Members for the ``_meta`` of every request, such as those of an extension. They go before
    the trace context of a running OpenTelemetry span, which is told by itself."""


class ToolOptions(CallOptions, total=False):
    """What may be said of one call of a tool."""

    check_results: bool
    """Whether the result is held against the tool's ``outputSchema``, in place of the client's
    own ``check_results``."""


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
            options: see :class:`ToolOptions`.

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
            options: see :class:`CallOptions`.

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
            meta=_own_meta(options.get("meta") or {}),
            kinds=_known(kinds) - settings.refused,
            via=self._wire.transport.name,
            home=self._home,
            server=self.name,
            deadline=None if seconds == math.inf else settings.clock() + seconds,
        )
        hearing = self._hearing(options)
        return Conversation(send or self.send, settings, rounds, hearing, self.give_up)

    def _hearing(self, options: CallOptions) -> Hearing:
        progress, log = options.get("progress"), options.get("log")
        check_plain("progress", progress)
        check_plain("log", log)
        level = options.get("log_level") or self._settings.log_level
        if level not in LOG_LEVELS:
            raise UsageError(f"log_level takes {', '.join(LOG_LEVELS)}; not {level!r}")
        return Hearing(progress, log or self._settings.log, level)

    def load(
        self, blob: bytes, *, moved: bool = False, **options: Unpack[HearOptions]
    ) -> Conversation[Any]:
        """Go on with a conversation that was stored by :meth:`Conversation.dump`.

        Its deadline goes on too, by the wall clock. Pending questions of a kind that this
        client refuses are refused. Its result is of the type that its method has.

        Args:
            blob: the bytes.
            moved: whether the target of this client may be another than that of the client
                that stored it: the same server at another address.
            options: see :class:`HearOptions`.

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
        if rounds.carrier is TOOL_CALL and settings.check_results:
            name = str(rounds.target.get(TOOL_CALL.names))
            rounds = attrs.evolve(rounds, carrier=self._schemas.checking(TOOL_CALL, name))
        hearing = self._hearing(cast(CallOptions, options))
        return Conversation[Any].resumed(self.send, settings, rounds, hearing, self.give_up)


def _tool_target(name: str, arguments: Mapping[str, object] | None) -> JsonObject:
    return {"name": name, "arguments": snapshot(arguments or {}, "The arguments")}


def _prompt_target(name: str, arguments: Mapping[str, str] | None) -> JsonObject:
    if arguments is None:
        return {"name": name}
    given = cast("Mapping[str, object]", arguments)
    if strange := [key for key, value in given.items() if not isinstance(value, str)]:
        raise UsageError(f"Arguments of a prompt are texts, and {strange[0]!r} is none")
    return {"name": name, "arguments": snapshot(arguments, "The arguments")}


def _own_meta(meta: Mapping[str, object]) -> JsonObject:
    if taken := sorted(_OWN_META & meta.keys()):
        raise UsageError(f"meta must not hold {taken[0]!r}: the client sets it by itself")
    return snapshot(meta, "The meta")


def _known(kinds: Collection[Kind]) -> frozenset[Kind]:
    if strange := set(kinds) - set(KINDS):
        raise UsageError(f"kinds takes {', '.join(KINDS)}; not {', '.join(sorted(strange))}")
    return frozenset(kinds)
