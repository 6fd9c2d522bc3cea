"""What a stored conversation is about, for a list of them: no arguments, no answers, no state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from .asked import FormRequest, InputRequest, Origin, UrlRequest
from .asked_round import KINDS, read_questions
from .call_errors import Kind
from .conversation import read_interim
from .limits import Limits
from .stored import read_target
from .stored_form import Payload, making_sense, opened, read_part


@frozen(kw_only=True)
class AskedBrief:
    """A pending question in short. All texts are the server's words.

    Attributes:
        key: the question's name within its round.
        kind: form, url, sampling or roots.
        message: what a person reads; empty for sampling and roots.
        host: where a link leads, whose whole address may be a secret; None for all others.
    """

    key: str
    kind: Kind
    message: str = ""
    host: str | None = None


@frozen(kw_only=True)
class About:
    """What a stored conversation is about.

    Attributes:
        server: how the server names itself.
        via: the target as the program named it that stored it.
        method: tools/call, prompts/get or resources/read.
        name: what it calls.
        begun: whether anything was sent yet.
        asked: the questions that wait for an answer.
    """

    server: str
    via: str
    method: str
    name: str
    begun: bool
    asked: tuple[AskedBrief, ...]


def about(blob: bytes, limits: Limits) -> About:
    """Read what a dump is about.

    Raises:
        UnreadableDump: as for :func:`~.stored.load`.
    """
    payload = opened(blob)
    with making_sense():
        _, _, name = read_target(payload, limits)
        origin = Origin(payload.server, payload.via, payload.method, name)
        return About(
            server=payload.server,
            via=payload.via,
            method=payload.method,
            name=name,
            begun=payload.interim is not None,
            asked=tuple(map(_brief, _pending(payload, origin, limits).values())),
        )


def _pending(payload: Payload, origin: Origin, limits: Limits) -> Mapping[str, InputRequest]:
    if payload.interim is None:
        return {}
    interim = read_interim(read_part(payload.interim, limits), "the dump")
    return read_questions(interim.input_requests, origin, KINDS, limits.questions)


def _brief(question: InputRequest) -> AskedBrief:
    told: dict[str, Any] = {}
    if isinstance(question, FormRequest | UrlRequest):
        told["message"] = question.message
    if isinstance(question, UrlRequest):
        told["host"] = question.host
    return AskedBrief(key=question.key, kind=question.kind, **told)
