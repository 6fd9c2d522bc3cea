"""Awaiting a call, and taking notice when it waits: most calls never do.

What has to go on beside a call that waits, a task of its own, costs more than many a call.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")


@coroutine
def noticing(
    call: Coroutine[Any, Any, T], waits: Callable[[], object]
) -> Generator[object, Any, T]:
    """Await ``call``, and call ``waits`` when it first waits; never where it does not wait.

    What passes between the call and the event loop passes unchanged. ``waits`` must not raise:
    the event loop would wait for something that nobody awaits any more.
    """
    try:
        said: object = call.send(None)
        waits()
        while True:
            try:
                heard: Any = yield said
            except BaseException as error:  # noqa: BLE001  # it is the call's to handle
                said = call.throw(error)
            else:
                said = call.send(heard)
    except StopIteration as done:
        result: T = done.value
        return result
