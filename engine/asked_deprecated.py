"""Sampling and roots as a client sees them: questions that this revision deprecates.

They stand apart so that they can be taken out whole. Specification: client/sampling,
client/roots, deprecated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final, TypeAlias, cast
from urllib.parse import unquote, urlsplit

from attrs import field, frozen

from .asked import InputRequest, Origin, Response
from .asked_parts import Malformed
from .call_errors import Kind
from .deprecated_questions import Root
from .errors import UsageError
from .jsonrpc import JsonObject, JsonValue
from .snapshot import snapshot

UNNAMED_MODEL: Final = "unknown"


@frozen
class SamplingReply:
    """What a language model said.

    Attributes:
        content: text, one content block, or several.
        model: the model's name; the protocol wants one.
        stop_reason: why it stopped, where known: ``endTurn``, ``maxTokens``, ...
    """

    content: str | JsonObject | Sequence[JsonObject] = field(repr=False)
    model: str = UNNAMED_MODEL
    stop_reason: str | None = None

    def wire(self) -> dict[str, object]:
        """The ``CreateMessageResult``."""
        content = self.content
        members: dict[str, object] = {
            "role": "assistant",
            "content": {"type": "text", "text": content} if isinstance(content, str) else content,
            "model": self.model,
        }
        if self.stop_reason is not None:
            members["stopReason"] = self.stop_reason
        return members


SamplingAnswer: TypeAlias = SamplingReply | str
RootsAnswer: TypeAlias = Sequence[Root | str]


@frozen(kw_only=True)
class SamplingRequest(InputRequest):
    """A request to a language model; a person should see it before it is sent to one.

    Attributes:
        messages: the exchange so far: objects with ``role`` and ``content``.
        max_tokens: the most that the model may write, which the protocol asks to respect.
        system: the system prompt that the server would like.
        temperature: as the server would like it.
        stop: texts at which to stop.
        params: everything as it was sent.
    """

    kind: ClassVar[Kind] = "sampling"
    messages: tuple[JsonObject, ...] = field(repr=False)
    max_tokens: int
    system: str | None = field(default=None, repr=False)
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    params: JsonObject = field(repr=False)

    def respond(self, answer: object) -> Response:
        if isinstance(answer, str):
            answer = SamplingReply(answer)
        if not isinstance(answer, SamplingReply):
            self._refuse(f"it is {type(answer).__name__}, not SamplingReply or text")
        try:
            wire = snapshot(answer.wire(), "The reply of a model")
        except UsageError as error:
            self._refuse(str(error))
        if not all(map(_is_block, _blocks(wire["content"]))):
            self._refuse("a reply is text or content blocks")
        if not all(isinstance(wire.get(name, ""), str) for name in ("model", "stopReason")):
            self._refuse("the model and the reason why it stopped are named by texts")
        return Response("answer", wire)


@frozen(kw_only=True)
class RootsRequest(InputRequest):
    """A request for the folders and files that the server may work on."""

    kind: ClassVar[Kind] = "roots"

    def respond(self, answer: object) -> Response:
        if isinstance(answer, str) or not isinstance(answer, Sequence):
            self._refuse(f"it is {type(answer).__name__}, not a sequence of Root or file URIs")
        listed = [self._root(item) for item in cast("Sequence[object]", answer)]
        try:
            return Response("answer", snapshot({"roots": listed}, "The roots"))
        except UsageError as error:
            self._refuse(str(error))

    def _root(self, item: object) -> JsonObject:
        root = Root(item) if isinstance(item, str) else item
        if not isinstance(root, Root) or not _is_file_uri(root.uri):
            self._refuse('a root is a "file://" URI without ".." in its path')
        name = cast(object, root.name)
        if name is None:
            return {"uri": root.uri}
        if not isinstance(name, str):
            self._refuse("the name of a root is a text")
        return {"uri": root.uri, "name": name}


def _is_file_uri(uri: object) -> bool:
    if not isinstance(uri, str):
        return False
    try:
        path = unquote(urlsplit(uri).path)
    except ValueError:
        return False
    return uri.startswith("file://") and ".." not in path.replace("\\", "/").split("/")


# -- reading ----------------------------------------------------------------------------------


def read_sampling(key: str, params: JsonObject, origin: Origin) -> SamplingRequest:
    """Understand the parameters of a ``sampling/createMessage``.

    Raises:
        Malformed: they are none.
    """
    messages, most = params.get("messages"), params.get("maxTokens")
    if not isinstance(messages, list) or not messages:
        raise Malformed('"messages" is no list of messages')
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise Malformed('"maxTokens" is no positive integer')
    stop, temperature = params.get("stopSequences"), params.get("temperature")
    system = params.get("systemPrompt")
    return SamplingRequest(
        key=key,
        origin=origin,
        messages=tuple(map(_message, messages)),
        max_tokens=most,
        # What is only a wish, and unreadable, is no wish.
        system=system if isinstance(system, str) else None,
        temperature=temperature if isinstance(temperature, int | float) else None,
        stop=tuple(s for s in stop if isinstance(s, str)) if isinstance(stop, list) else (),
        params=params,
    )


def wants_tools(params: JsonObject) -> bool:
    """Whether the model should call tools, which a client has to declare apart."""
    return params.get("tools") is not None or params.get("toolChoice") is not None


def _message(value: JsonValue) -> JsonObject:
    if isinstance(value, dict) and value.get("role") in ("user", "assistant"):
        blocks = list(_blocks(value.get("content")))
        if blocks and all(map(_is_block, blocks)):
            return value
    raise Malformed("a message has a role, user or assistant, and content blocks")


def _blocks(content: JsonValue) -> Iterator[JsonValue]:
    yield from content if isinstance(content, list) else [content]


def _is_block(block: JsonValue) -> bool:
    return isinstance(block, dict) and isinstance(block.get("type"), str)
