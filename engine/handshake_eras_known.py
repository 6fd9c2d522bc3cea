"""What servers have turned out to be, remembered for as long as the program runs.

That a server speaks this revision holds until it fails. That it speaks earlier ones only is
doubted after a while: one that speaks all of them may have been slow, or behind something that
answered for it, and would be spoken to as an older one for ever.

Specification: basic/versioning, "Backward Compatibility with Initialization-Based Versions".
"""

from __future__ import annotations

import math
from collections import OrderedDict
from time import monotonic
from typing import Final, Literal, TypeAlias

Era: TypeAlias = Literal["modern", "older"]

OLDER_SECONDS: Final = 3600.0
"""For so long a server is taken for an older one without being asked anew."""

_MOST: Final = 1000
_known: Final[OrderedDict[bytes, tuple[Era, float]]] = OrderedDict()


def recall(server: bytes) -> Era | None:
    """What a server has turned out to be; None where it is to be found out."""
    era, until = _known.get(server, (None, 0.0))
    return era if monotonic() < until else None


def remember(server: bytes, era: Era) -> None:
    """Keep what a server has shown itself to be.

    What was known already is not known for longer: a server that is taken for an older one is
    given no occasion to show more.
    """
    if recall(server) != era:
        _known[server] = (era, math.inf if era == "modern" else monotonic() + OLDER_SECONDS)
    _known.move_to_end(server)
    if len(_known) > _MOST:
        _known.popitem(last=False)


def forget(server: bytes) -> None:
    """It does not hold any more."""
    _known.pop(server, None)


def forget_eras() -> None:
    """Forget what all servers have turned out to be."""
    _known.clear()
