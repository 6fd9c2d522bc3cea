"""Sampling and roots: questions that this revision of the protocol deprecates.

They stand apart so that they can be taken out whole. Few hosts answer them: give a state that
asks them an ``unavailable`` edge. Specification: client/sampling, client/roots, deprecated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from attrs import field, frozen

from .errors import UsageError
from .jsonrpc import JsonObject, JsonValue
from .questions import Given, Reading, Single, check_timeout, refusal


@frozen
class SamplingMessage:
    """One message put to the client's model; ``content`` is text or one content block."""

    role: Literal["user", "assistant"]
    content: str | JsonObject

    def wire(self) -> JsonObject:
        """The JSON form."""
        content = self.content
        block: JsonObject = (
            {"type": "text", "text": content} if isinstance(content, str) else content
        )
        return {"role": self.role, "content": block}


@frozen
class Sampled:
    """What the client's model said: ``content`` is one block or a list of them."""

    model: str
    content: JsonObject | list[JsonValue]
    role: str = "assistant"
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        """The text blocks, joined by newlines."""
        blocks = self.content if isinstance(self.content, list) else [self.content]
        return "\n".join(
            str(block.get("text"))
            for block in blocks
            if isinstance(block, dict) and block.get("type") == "text"
        )


def _messages(prompt: str | Sequence[SamplingMessage]) -> tuple[SamplingMessage, ...]:
    return (SamplingMessage("user", prompt),) if isinstance(prompt, str) else tuple(prompt)


def _something_to_say(_: object, __: object, prompt: tuple[SamplingMessage, ...]) -> None:
    if not prompt:
        raise UsageError("Sample(prompt) needs at least one message")


@frozen
class Sample(Single[Sampled]):
    """A request to the client's language model.

    Args:
        prompt: one text of the user, or the whole exchange.
        max_tokens: the most that the model may write.
        system: the system prompt, which the client may change or leave out.
        key: the name of the answer on the wire.
        timeout: see :attr:`~.questions.Single.timeout`.
    """

    prompt: tuple[SamplingMessage, ...] = field(converter=_messages, validator=_something_to_say)
    max_tokens: int = 1000
    system: str | None = field(default=None, kw_only=True)
    temperature: float | None = field(default=None, kw_only=True)
    stop: tuple[str, ...] = field(default=(), kw_only=True)
    preferences: JsonObject | None = field(default=None, kw_only=True)
    key: str | None = field(default=None, kw_only=True)
    timeout: float | None = field(default=None, kw_only=True, validator=check_timeout)

    @property
    def needs(self) -> JsonObject:
        return {"sampling": {}}

    def wire(self, note: str = "") -> JsonObject:  # noqa: ARG002  # no person reads it
        params: JsonObject = {
            "messages": [message.wire() for message in self.prompt],
            "maxTokens": self.max_tokens,
        }
        if self.system is not None:
            params["systemPrompt"] = self.system
        if self.temperature is not None:
            params["temperature"] = self.temperature
        if self.stop:
            params["stopSequences"] = list(self.stop)
        if self.preferences is not None:
            params["modelPreferences"] = self.preferences
        return {"method": "sampling/createMessage", "params": params}

    def read(self, response: JsonObject) -> Reading[Sampled]:
        content, model, role = (response.get(name) for name in ("content", "model", "role"))
        if not isinstance(content, dict | list) or not content or not isinstance(model, str):
            return refusal(response)
        if role not in ("user", "assistant"):
            return None
        stop = response.get("stopReason")
        return Given(
            Sampled(model, content, cast(str, role), stop if isinstance(stop, str) else None)
        )


@frozen
class Root:
    """A folder or file that the client lets the server work on."""

    uri: str
    name: str | None = None


@frozen
class ListRoots(Single[tuple[Root, ...]]):
    """The roots that the client exposes."""

    key: str | None = field(default=None, kw_only=True)
    timeout: float | None = field(default=None, kw_only=True, validator=check_timeout)

    @property
    def needs(self) -> JsonObject:
        return {"roots": {}}

    def wire(self, note: str = "") -> JsonObject:  # noqa: ARG002  # no person reads it
        return {"method": "roots/list"}

    def read(self, response: JsonObject) -> Reading[tuple[Root, ...]]:
        listed = response.get("roots")
        if not isinstance(listed, list):
            return refusal(response)
        roots = [_root(item) for item in listed]
        return None if None in roots else Given(tuple(root for root in roots if root is not None))


def _root(item: JsonValue) -> Root | None:
    if not isinstance(item, dict):
        return None
    uri, name = item.get("uri"), item.get("name")
    if not isinstance(uri, str):
        return None
    return Root(uri, name if isinstance(name, str) else None)
