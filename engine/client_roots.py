"""The roots of a client, told to a server that asks for them outside of any call.

Only servers of earlier revisions do. In this one each question belongs to a call.

Specification: 2025-11-25, client/roots.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

import trio
from attrs import frozen

from .answering import AuditEntry, Outcome, only_cancelled
from .asked import Origin, Response
from .asked_deprecated import RootsRequest
from .client_options import Settings
from .errors import INTERNAL_ERROR
from .jsonrpc import Failure, JsonObject, Request, Success

_log = logging.getLogger(__name__)

PATIENCE: Final = 600.0
"""Seconds for the callback, where the client has no ``people_timeout``."""

METHOD: Final = "roots/list"
_KEY: Final = "roots"


@frozen
class RootsDesk:
    """Tells the roots of a client, under its audit and within its time for people.

    Attributes:
        settings: the client's.
        via: the target, as its program named it.
        server: how the server names itself, by now.
    """

    settings: Settings
    via: str
    server: Callable[[], str]

    async def answer(self, request: Request) -> Success | Failure:
        """The roots, or an error where there are none to be had; see
        :data:`~.exchange.AnswerRoots`."""
        origin = Origin(self.server(), self.via, METHOD, "")
        try:
            response = await self._response(RootsRequest(key=_KEY, origin=origin))
        except Exception as error:  # noqa: BLE001  # there is no call that it could end
            # Its text may hold what the callback was about to tell.
            _log.error("The roots are not told to %s: %s", self.via, type(error).__name__)
            return Failure(request.id, INTERNAL_ERROR, "This client cannot tell its roots now")
        return Success(request.id, response.wire)

    async def _response(self, question: RootsRequest) -> Response:
        given = self.settings.people_timeout
        with trio.fail_after(PATIENCE if given is None else given):
            try:
                response = question.respond(await self.settings.callbacks.answer(question))
            except BaseException as error:
                self._record(question, "abandoned" if only_cancelled(error) else "failed")
                raise
            self._record(question, response.action, response.wire)
        return response

    def _record(
        self, question: RootsRequest, outcome: Outcome, answer: JsonObject | None = None
    ) -> None:
        if self.settings.audit is None:
            return
        self.settings.audit(
            AuditEntry(
                at=self.settings.clock(),
                origin=question.origin,
                round=0,
                key=question.key,
                kind=question.kind,
                outcome=outcome,
                question=question,
                answer=answer,
            )
        )
