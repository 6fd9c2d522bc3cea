"""Roots that a server of an earlier revision asks for outside of any call.

They belong to the client, and servers ask for them when a session begins. All other questions
belong to a call.

Specification: 2025-11-25, client/roots.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import trio
from attrs import define, field, frozen

from .errors import BUSY
from .exchange import AnswerRoots
from .handshake_client_calls import same_id
from .jsonrpc import Failure, JsonValue, Request, Success

_TOO_MANY: Final = "This client was asked for its roots too often at once"


@frozen(eq=False)
class _Open:
    request: Request
    scope: trio.CancelScope = field(factory=trio.CancelScope)


@define(eq=False)
class RootsAsked:
    """The questions for roots of one session that have no answer yet.

    Attributes:
        nursery: runs whoever answers.
        answer: the client's; None where it has no roots to tell.
        most: how many may be open at a time; there is an error for more.
    """

    _nursery: trio.Nursery
    _answer: AnswerRoots | None
    _most: int
    _open: list[_Open] = field(factory=list[_Open], init=False)

    @property
    def known(self) -> bool:
        """Whether there is somebody who tells them."""
        return self._answer is not None

    def ask(self, request: Request, post: Callable[[Success | Failure], None]) -> None:
        """Have one answered, without waiting."""
        if self._answer is None or len(self._open) >= self._most:
            post(Failure(request.id, BUSY, _TOO_MANY))
            return
        asked = _Open(request)
        self._open.append(asked)
        self._nursery.start_soon(self._answered, self._answer, asked, post)

    async def _answered(
        self, answer: AnswerRoots, asked: _Open, post: Callable[[Success | Failure], None]
    ) -> None:
        try:
            with asked.scope:
                reply = await answer(asked.request)
                if not asked.scope.cancel_called:
                    post(reply)
        finally:
            self._open.remove(asked)

    def withdraw(self, id: JsonValue) -> None:
        """The server does not want the answer any more."""
        for asked in self._open:
            if same_id(asked.request.id, id):
                asked.scope.cancel()

    def close(self) -> None:
        """The session is over: answer no more."""
        self._answer = None
        for asked in self._open:
            asked.scope.cancel()
