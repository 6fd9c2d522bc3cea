"""How a result becomes the messages of a prompt. Specification: server/prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from attrs import frozen

from .content import Block, as_block
from .display import ROLES, Role
from .errors import UsageError
from .jsonrpc import JsonObject


@frozen
class PromptMessage:
    """One message of a prompt: text, or a content block."""

    role: Role
    content: str | Block

    def __attrs_post_init__(self) -> None:
        if self.role not in ROLES:
            raise UsageError(f"role {self.role!r} is neither 'user' nor 'assistant'")
        # What a type checker would have found must not wait for the wire.
        if not isinstance(cast(object, self.content), str | Block):
            kind = type(self.content).__name__
            raise UsageError(f"A prompt's message holds text or a content block, not a {kind}")

    def wire(self) -> JsonObject:
        """The JSON form; raises UsageError where there is none."""
        return {"role": self.role, "content": as_block(self.content).wire()}


def user(content: str | Block) -> PromptMessage:
    """A message of the user."""
    return PromptMessage("user", content)


def assistant(content: str | Block) -> PromptMessage:
    """A message of the assistant."""
    return PromptMessage("assistant", content)


def prompt_result(value: object) -> JsonObject:
    """The members of a ``GetPromptResult`` that say ``value``.

    Text and content blocks are messages of the user; a list gives a message for each item.

    Raises:
        UsageError: it is neither text, a content block, a :class:`PromptMessage` nor a list of
            these.
    """
    items = cast(Sequence[object], value) if isinstance(value, list | tuple) else [value]
    return {"messages": [_message(item).wire() for item in items]}


def _message(item: object) -> PromptMessage:
    if isinstance(item, PromptMessage):
        return item
    if isinstance(item, str | Block):
        return user(item)
    raise UsageError(
        f"A prompt gave a {type(item).__name__}; it gives text, a content block, a "
        "PromptMessage, or a list of these"
    )
