"""How many processes serve side by side, where somebody can know."""

from __future__ import annotations

from collections.abc import Mapping
from multiprocessing import current_process

from attrs import define


@define
class _Supervised:
    """What the supervisor of this process has said; see :mod:`.supervisor`."""

    workers: int = 0
    number: int = 0


_supervised = _Supervised()


def supervised(workers: int, number: int) -> None:
    """Take it that this process is the one with this number, from 0, of so many."""
    _supervised.workers, _supervised.number = workers, number


def worker_prefix(number: int | None = None) -> str:
    """What the session ids of a worker begin with, of this one by default; empty where a
    supervisor of ours does not have several."""
    if _supervised.workers < 2:
        return ""
    return f"w{_supervised.number if number is None else number}-"


def hypercorn_workers() -> int:
    """The workers that serve side by side, this process included; 1 where nobody can know.

    A supervisor of ours tells its workers. hypercorn tells its own nothing of each other, but
    starts each with its configuration as an argument, which multiprocessing keeps. Command line,
    file and ``hypercorn.run`` all end there. Processes that were started one by one cannot know
    of each other.
    """
    if _supervised.workers:
        return _supervised.workers
    arguments: Mapping[str, object] = getattr(current_process(), "_kwargs", {})
    workers = getattr(arguments.get("config"), "workers", 1)
    return workers if isinstance(workers, int) else 1


def speaks_for_all(workers: int) -> bool:
    """Whether this is the one of so many workers that says what all of them would say.

    multiprocessing counts the processes that a parent starts and ends their names with the
    number, so exactly one of any ``workers`` that follow each other fits.
    """
    if _supervised.workers:
        return _supervised.number == 0
    number = current_process().name.rpartition("-")[2]
    return not number.isdigit() or int(number) % workers == 1 % workers
