"""How many processes of one hypercorn serve side by side."""

from __future__ import annotations

from collections.abc import Mapping
from multiprocessing import current_process


def hypercorn_workers() -> int:
    """The workers that hypercorn was told to run, this process included; 1 elsewhere.

    hypercorn tells its workers nothing of each other, but starts each with its configuration
    as an argument, which multiprocessing keeps. Command line, file and ``hypercorn.run`` all
    end there. Processes that were started one by one cannot know of each other.
    """
    arguments: Mapping[str, object] = getattr(current_process(), "_kwargs", {})
    workers = getattr(arguments.get("config"), "workers", 1)
    return workers if isinstance(workers, int) else 1


def speaks_for_all(workers: int) -> bool:
    """Whether this is the one of so many workers that says what all of them would say.

    multiprocessing counts the processes that a parent starts and ends their names with the
    number, so exactly one of any ``workers`` that follow each other fits.
    """
    number = current_process().name.rpartition("-")[2]
    return not number.isdigit() or int(number) % workers == 1 % workers
