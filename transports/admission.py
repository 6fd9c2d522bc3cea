"""Who and what is let in to an endpoint, by the head of a request alone.

Specification: basic/transports/streamable-http; for GET and DELETE 2025-11-25, basic/transports.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from ..engine.exchange import Principal
from .asgi_messages import Scope, too_large
from .authentication import Verifier, authenticated
from .guards import Guards
from .headers import Fields
from .http_errors import Refused
from .media_types import check_media_types

POST_ALONE = b"POST"


@frozen
class Admission:
    """What one endpoint lets in.

    Attributes:
        path: the endpoint.
        guards: those of ``Host`` and ``Origin``.
        authenticate: who verifies bearer tokens, if anybody does.
        message_bytes: the limit of a body.
        allowed: the methods that a request with such a head may have.
    """

    path: str
    guards: Guards
    authenticate: Verifier | None
    message_bytes: int
    allowed: Callable[[Fields], bytes]

    async def check(self, scope: Scope, fields: Fields) -> Principal | None:
        """See to all that the head decides, cheapest first; nothing of the body is read.

        Returns:
            Who sends it, where somebody is asked.

        Raises:
            Refused: it is not let in.
        """
        self.guards.check(scope, fields)
        self._check_target(scope, fields)
        principal = None
        if self.authenticate is not None:
            principal = await authenticated(self.authenticate, fields)
        if scope["method"] == "POST":
            check_media_types(fields)
        self._check_length(fields)
        return principal

    def _check_target(self, scope: Scope, fields: Fields) -> None:
        # Whether the path still holds the prefix differs between frameworks: both are met.
        endpoints = (self.path, scope.get("root_path", "") + self.path)
        if scope["path"] not in endpoints:
            raise Refused(404, f"Not found; the endpoint here is {endpoints[1]}", code=None)
        if scope["method"] == "POST":
            return
        allowed = self.allowed(fields)
        if scope["method"].encode() not in allowed.split(b", "):
            text = "The endpoint takes POST alone" if allowed == POST_ALONE else _WITH_SESSION
            raise Refused(405, text, (b"allow", allowed))

    def _check_length(self, fields: Fields) -> None:
        length = fields.get(b"content-length") or b""
        limit = self.message_bytes
        # No number so long that int() would refuse it.
        if length.isdigit() and (len(length) > 20 or int(length) > limit):
            raise too_large(limit)


_WITH_SESSION = "The endpoint takes POST, and of a session GET and DELETE"
