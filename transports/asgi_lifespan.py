"""ASGI's lifespan: an application that is held open between its server's start and its end.

https://asgi.readthedocs.io/en/latest/specs/lifespan.html
"""

from __future__ import annotations

import logging
from contextlib import AbstractAsyncContextManager

from .asgi_messages import Receive, Send

logger = logging.getLogger("antiphon.http")


async def live(
    running: AbstractAsyncContextManager[object], name: str, receive: Receive, send: Send
) -> None:
    """Hold ``running`` open until the server says that it stops.

    What goes wrong is logged with its traceback, and told to the server in a sentence: it does
    not start then, and one that has started stops.
    """
    stage = "startup"
    try:
        async with running:
            await send({"type": "lifespan.startup.complete"})
            stage = "shutdown"
            await receive()
    except Exception as error:
        told = f"The lifespan of {name!r} failed: {type(error).__name__}: {error}"
        logger.exception(told)
        await send({"type": f"lifespan.{stage}.failed", "message": told})
        return
    await send({"type": "lifespan.shutdown.complete"})
