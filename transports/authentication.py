"""From a bearer token to the principal who sends the request.

The token is verified at every request and kept nowhere: a connection has no identity.
Specification: basic/index, "Statelessness" and "Auth"; RFC 6750.
"""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias, cast

from ..engine.errors import INTERNAL_ERROR
from ..engine.exchange import Principal
from .headers import Fields
from .http_errors import Refused

Verifier: TypeAlias = Callable[[str], Awaitable[Principal | None]]
"""Takes a bearer token; returns who it stands for, or None where it is not valid."""

_BEARER: Final = re.compile(rb"bearer +(?P<token>[A-Za-z0-9._~+/-]+=*)", re.IGNORECASE)

logger: Final = logging.getLogger("antiphon.http")


async def authenticated(verify: Verifier, fields: Fields) -> Principal:
    """The principal whom the request's own bearer token stands for.

    Raises:
        Refused: 401 where there is no valid token, 500 where the verifier failed.
    """
    token = _bearer_token(fields)
    if token is None:
        raise _unauthorized("This server wants a bearer token", b"Bearer")
    principal = await _verified(verify, token)
    if principal is None:
        raise _unauthorized("The bearer token is not valid", b'Bearer error="invalid_token"')
    return principal


def _bearer_token(fields: Fields) -> str | None:
    match = _BEARER.fullmatch(fields.get(b"authorization") or b"")
    return match["token"].decode("ascii") if match else None


async def _verified(verify: Verifier, token: str) -> Principal | None:
    try:
        verdict = cast(object, await verify(token))
        if verdict is None or isinstance(verdict, Principal):
            return verdict
        raise TypeError("authenticate= must return a Principal or None")
    except Exception as error:  # noqa: BLE001 whatever it is, the door stays shut
        # Not the exception's own text, nor its causes': it may quote the token.
        logger.error(
            "The verifier of http_app(authenticate=...) raised %s; the request is refused\n%s",
            type(error).__qualname__,
            "".join(traceback.format_tb(error.__traceback__)),
        )
        message = "The bearer token could not be verified"
        raise Refused(500, message, code=INTERNAL_ERROR) from None


def _unauthorized(message: str, challenge: bytes) -> Refused:
    return Refused(401, message, (b"www-authenticate", challenge))
