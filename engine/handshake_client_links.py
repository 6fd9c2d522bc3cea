"""Links that a server of an earlier revision wants opened before it serves a request.

It refuses the request with an error that names them, having done nothing. Its client is asked by
an interim result, and where every link was agreed to, the request is sent again. Nothing waits
meanwhile, here or there: such a call can be stored, and go on over another connection.

Specification: 2025-11-25, client/elicitation, "URL Elicitation Required Error".
"""

from __future__ import annotations

from typing import Final, TypeGuard

from .asked_links import read_link
from .asked_parts import Malformed
from .jsonrpc import Failure, JsonObject, JsonValue, Request, Success
from .protocol import INPUT_REQUIRED, META_SERVER

LINKS_FIRST: Final = -32042
"""The code of that error; this revision has none like it."""

STATE: Final = "antiphon/links"
"""The state of such an interim result: the request itself says all that is needed."""

_REFUSED: Final = (
    "A link that the server wants opened first was not agreed to: the request was not sent again, "
    "and nothing was done"
)


def asking_links(refusal: Failure, most: int, server: JsonObject) -> Success | None:
    """An error of a server as an interim result that asks for its links.

    Args:
        refusal: the error, with the id of the leg that it is for.
        most: questions that there may be in a round; more are refused by who reads the result.
        server: how the server names itself.

    Returns:
        None where it is another error, or is malformed.
    """
    links = _links(refusal)
    if refusal.id is None or not links or not all(map(_can_be_shown, links[:most])):
        return None
    requests: JsonObject = {
        f"link-{number}": {"method": "elicitation/create", "params": link}
        for number, link in enumerate(links, 1)
    }
    result: JsonObject = {
        "resultType": INPUT_REQUIRED,
        "inputRequests": requests,
        "requestState": STATE,
        "_meta": {META_SERVER: server},
    }
    return Success(refusal.id, result)


def _links(refusal: Failure) -> list[JsonObject]:
    """Those that an error names; none where it is another one, or names something else as well."""
    data = refusal.data if refusal.code == LINKS_FIRST else None
    listed = data.get("elicitations") if isinstance(data, dict) else None
    if not isinstance(listed, list):
        return []
    links = [link for link in listed if _names_a_link(link)]
    return links if len(links) == len(listed) else []


def _names_a_link(link: JsonValue) -> TypeGuard[JsonObject]:
    if not isinstance(link, dict) or link.get("mode") != "url":
        return False
    return all(isinstance(link.get(name), str) for name in ("message", "url", "elicitationId"))


def _can_be_shown(link: JsonObject) -> bool:
    try:
        read_link(str(link["url"]))
    except Malformed:
        return False
    return True


def not_agreed(request: Request) -> Failure | None:
    """What a leg gets that returns from such a question; None where it is to be sent again."""
    answers = request.params.get("inputResponses")
    given = [*answers.values()] if isinstance(answers, dict) else []
    if given and all(isinstance(a, dict) and a.get("action") == "accept" for a in given):
        return None
    return Failure(request.id, LINKS_FIRST, _REFUSED)
