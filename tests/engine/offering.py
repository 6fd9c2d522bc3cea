"""Prompts, resources and templates as a client gets them, and one flow that is all of them."""

from __future__ import annotations

from typing import Any, Literal, cast

from attrs import frozen

from antiphon import Asking, Done, Flow, Form, Server
from antiphon.engine.jsonrpc import Failure, JsonObject
from tests.engine.peer import KEY, Peer, meta


def offering(**options: Any) -> Server:
    """A server with nothing to offer yet."""
    given: dict[str, Any] = {"version": "1.0", "keys": [KEY], **options}
    return Server("Library", **given)


def continued(state: object, responses: object) -> JsonObject:
    """What a client adds when it comes back; None is left out."""
    given = {"requestState": state, "inputResponses": responses}
    return cast(JsonObject, {name: value for name, value in given.items() if value is not None})


async def get(
    peer: Peer,
    name: str,
    arguments: JsonObject | None = None,
    *,
    state: object = None,
    responses: object = None,
) -> dict[str, Any]:
    """The result of a ``prompts/get``."""
    given: JsonObject = {} if arguments is None else {"arguments": arguments}
    params: JsonObject = {"name": name, **given, **continued(state, responses)}
    return await peer.ask("prompts/get", params)


async def read(
    peer: Peer, uri: str, *, state: object = None, responses: object = None
) -> dict[str, Any]:
    """The result of a ``resources/read``."""
    return await peer.ask("resources/read", {"uri": uri, **continued(state, responses)})


async def error_of(peer: Peer, method: str, params: JsonObject) -> Failure:
    """The error that a request with a proper ``_meta`` ends in."""
    reply = await peer.exchange(method, {"_meta": meta(peer.capabilities), **params})
    assert isinstance(reply, Failure), reply
    return reply


async def get_error(peer: Peer, name: str, arguments: JsonObject | None = None) -> Failure:
    """The error of a ``prompts/get``."""
    given: JsonObject = {} if arguments is None else {"arguments": arguments}
    return await error_of(peer, "prompts/get", {"name": name, **given})


async def read_error(
    peer: Peer, uri: str, *, state: object = None, responses: object = None
) -> Failure:
    """The error of a ``resources/read``."""
    params: JsonObject = {"uri": uri, **continued(state, responses)}
    return await error_of(peer, "resources/read", params)


def message_text(result: dict[str, Any]) -> str:
    """The text of a prompt's only message, which is the user's."""
    (message,) = result["messages"]
    assert message["role"] == "user"
    assert message["content"]["type"] == "text"
    return str(message["content"]["text"])


def contents_text(result: dict[str, Any]) -> str:
    """The text of a resource's only contents."""
    (contents,) = result["contents"]
    return str(contents["text"])


# -- a flow that is a tool, a prompt and a template ------------------------------------------------


@frozen
class Topic:
    animal: Literal["cats", "dogs"]


@frozen
class Tone:
    tone: str


@frozen
class Sure:
    sure: bool


@frozen
class AskingTone(Asking[Tone]):
    animal: str

    def ask(self) -> Form[Tone]:
        return Form(f"How shall we speak of {self.animal}?", Tone, key="tone")


@frozen
class AskingSure(Asking[Sure]):
    animal: str
    tone: str

    def ask(self) -> Form[Sure]:
        return Form(f"Really {self.tone}?", Sure, key="sure")


@frozen
class Essay(Flow[Topic]):
    """Write about an animal. Asks for a tone, and whether that is meant."""

    async def begin(self, args: Topic) -> AskingTone:
        return AskingTone(args.animal)

    @AskingTone.answered
    async def toned(self, at: AskingTone, answer: Tone) -> AskingSure:
        return AskingSure(at.animal, answer.tone)

    @AskingSure.answered
    async def meant(self, at: AskingSure, answer: Sure) -> AskingTone | Done[str]:
        if not answer.sure:
            return AskingTone(at.animal)
        return Done(f"On {at.animal}, {at.tone}")
