"""A nursery for tasks that serve its body, and whose exceptions are the body's alone."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio


@asynccontextmanager
async def background() -> AsyncGenerator[trio.Nursery, None]:
    """A nursery from which the body's exception comes out as it was raised, in no group.

    For context managers that keep tasks running for their caller: whoever writes ``except
    TransportLost`` around one need not know that it holds a nursery. The tasks must raise
    nothing of their own; where one does after all, a group tells the whole story.
    """
    try:
        async with trio.open_nursery() as nursery:
            yield nursery
    except BaseExceptionGroup as group:
        error = _only(group)
        if error is None:
            raise
    else:
        return
    # Outside the except block, so that the error keeps its own context.
    raise error


def _only(group: BaseExceptionGroup[BaseException]) -> BaseException | None:
    errors = [error for error in group.exceptions if not isinstance(error, trio.Cancelled)]
    # Of cancellations alone one is as good as all.
    errors = errors or list(group.exceptions[:1])
    return errors[0] if len(errors) == 1 else None
