"""What a client and a server of an earlier revision say to each other, from the one to the other.

Requests lose what only this revision has, results gain it. Nothing here waits.

Specification: 2025-11-25, basic/lifecycle, client/elicitation, client/sampling, client/roots.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from .asked import elicitation_mode
from .asked_deprecated import wants_tools
from .asked_parts import Malformed
from .call_errors import Kind, quoted
from .errors import INVALID_PARAMS, InvalidReply, ProtocolError, method_not_found
from .handshake_link import META_OPEN_CALL
from .handshake_versions import HANDSHAKE_VERSIONS
from .jsonrpc import JsonObject, JsonValue, Request
from .protocol import (
    COMPLETE,
    INPUT_REQUIRED,
    META_CAPABILITIES,
    META_CLIENT,
    META_LOG_LEVEL,
    META_SERVER,
    META_VERSION,
)
from .subscription_filter import Honoured

_ROUNDS: Final = frozenset({"inputResponses", "requestState"})
_SET_BY_US: Final = frozenset({META_VERSION, META_CLIENT, META_CAPABILITIES, META_LOG_LEVEL})
"""Members of ``_meta`` that this revision prescribes; what else is there its sender wants."""


@frozen
class Agreed:
    """What a server said in reply to ``initialize``.

    Attributes:
        version: the revision that both speak.
        capabilities, info, instructions: the server's.
    """

    version: str
    capabilities: JsonObject
    info: JsonObject
    instructions: str | None

    @classmethod
    def read(cls, result: JsonObject, said_by: str) -> Agreed:
        """Read the result of ``initialize``.

        Raises:
            InvalidReply: it is malformed, or names a revision that this client does not speak.
        """
        version = result.get("protocolVersion")
        if not isinstance(version, str) or version not in HANDSHAKE_VERSIONS:
            raise InvalidReply(
                f"{said_by} wants to speak revision {quoted(version)} of the protocol after the "
                f"handshake; this client speaks {', '.join(HANDSHAKE_VERSIONS)}"
            )
        capabilities, info = result.get("capabilities"), result.get("serverInfo")
        instructions = result.get("instructions")
        return cls(
            version,
            capabilities if isinstance(capabilities, dict) else {},
            info if isinstance(info, dict) else {},
            instructions if isinstance(instructions, str) else None,
        )

    def discovery(self) -> JsonObject:
        """What the server would say to ``server/discover``."""
        result: JsonObject = {
            "supportedVersions": [self.version],
            "capabilities": self.capabilities,
        }
        if self.instructions is not None:
            result["instructions"] = self.instructions
        return self.completed(result)

    def completed(self, result: JsonObject) -> JsonObject:
        """A result with what every one of this revision has."""
        completed: JsonObject = {"resultType": COMPLETE, **result}
        meta = result.get("_meta")
        if self.info and (meta is None or isinstance(meta, dict)):
            completed["_meta"] = {META_SERVER: self.info, **(meta or {})}
        return completed

    def has(self, capability: str, setting: str | None = None) -> bool:
        """Whether the server declares a capability, or a setting of it."""
        declared = self.capabilities.get(capability)
        if not isinstance(declared, dict):
            return False
        return setting is None or declared.get(setting) is True

    def honoured(self) -> Honoured:
        """What it can tell of."""
        return Honoured(
            tools=self.has("tools", "listChanged"),
            prompts=self.has("prompts", "listChanged"),
            resources=self.has("resources", "listChanged"),
            updates=self.has("resources", "subscribe"),
        )


# -- what is said to the server -----------------------------------------------------------------


def hello(request: Request, declared: JsonObject) -> JsonObject:
    """The parameters of ``initialize`` for the client that sends this request.

    Args:
        request: the first one.
        declared: what the client declares besides, in requests that are to come.
    """
    meta = _meta(request)
    first, client = meta.get(META_CAPABILITIES), meta.get(META_CLIENT)
    capabilities: JsonObject = {**declared, **(first if isinstance(first, dict) else {})}
    modes = [of.get("elicitation") for of in (declared, first) if isinstance(of, dict)]
    if either := [mode for mode in modes if isinstance(mode, dict)]:
        capabilities["elicitation"] = {
            name: value for mode in either for name, value in mode.items()
        }
    capabilities.pop("extensions", None)
    return {
        "protocolVersion": HANDSHAKE_VERSIONS[0],
        "capabilities": capabilities,
        "clientInfo": client if isinstance(client, dict) else {"name": "antiphon", "version": "0"},
    }


def older(request: Request) -> Request:
    """The request without what only this revision knows."""
    params = {name: value for name, value in request.params.items() if name not in _ROUNDS}
    meta: JsonObject = {name: v for name, v in _meta(request).items() if name not in _SET_BY_US}
    params.pop("_meta", None)
    if meta:
        params["_meta"] = meta
    return Request(request.id, request.method, params)


def declared_kinds(request: Request) -> frozenset[Kind]:
    """The kinds of question that the sender of a request takes."""
    declared = _meta(request).get(META_CAPABILITIES)
    capabilities = declared if isinstance(declared, dict) else {}
    kinds: set[Kind] = set()
    elicitation = capabilities.get("elicitation")
    if isinstance(elicitation, dict):
        if "form" in elicitation or not elicitation:
            kinds.add("form")
        if "url" in elicitation:
            kinds.add("url")
    if "sampling" in capabilities:
        kinds.add("sampling")
    if "roots" in capabilities:
        kinds.add("roots")
    return frozenset(kinds)


def meta_of(request: Request, name: str) -> JsonValue:
    """A member of a request's ``_meta``, or None."""
    return _meta(request).get(name)


def _meta(request: Request) -> JsonObject:
    meta = request.params.get("_meta")
    return meta if isinstance(meta, dict) else {}


# -- what it says -------------------------------------------------------------------------------


def complete_result(result: JsonObject, agreed: Agreed, said_by: str) -> JsonObject:
    """A server's result as one of this revision.

    Raises:
        InvalidReply: it asks something in its result, which its revision does not have. Taken
            for complete, it would lose the question.
    """
    interim = result.get("resultType") == INPUT_REQUIRED
    if interim or "inputRequests" in result or "requestState" in result:
        raise InvalidReply(
            f"{said_by} sent an interim result, which revision {agreed.version} does not have"
        )
    return agreed.completed(result)


def question_kind(request: Request) -> Kind:
    """The kind of question that a server's request is.

    Raises:
        ProtocolError: it is none, or one that no client of ours has declared.
    """
    match request.method:
        case "elicitation/create":
            try:
                return elicitation_mode(request.params)
            except Malformed as fault:
                raise ProtocolError(INVALID_PARAMS, f"Invalid params: {fault}") from None
        case "sampling/createMessage":
            if wants_tools(request.params):
                raise ProtocolError(INVALID_PARAMS, "This client did not declare sampling.tools")
            return "sampling"
        case "roots/list":
            return "roots"
        case _:
            raise method_not_found(request.method)


def interim_result(questions: dict[str, Request], handle: str, server: JsonObject) -> JsonObject:
    """The questions of an open call, as this revision puts them."""
    requests: JsonObject = {
        key: {"method": question.method, "params": question.params}
        for key, question in questions.items()
    }
    return {
        "resultType": INPUT_REQUIRED,
        "inputRequests": requests,
        "requestState": handle,
        "_meta": {META_OPEN_CALL: True, META_SERVER: server},
    }
