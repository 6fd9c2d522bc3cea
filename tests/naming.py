"""Names for parameters of tests."""

import re
from collections.abc import Set as AbstractSet
from typing import cast


def shown(value: object) -> str:
    """What it is, without an address and with sets in order.

    Processes that share the tests know them by their names, so one value has one name in
    each: addresses differ there, and so does the order of a set.
    """
    if isinstance(value, AbstractSet):
        members = cast("AbstractSet[object]", value)
        return f"{type(members).__name__}({{{', '.join(sorted(map(shown, members)))}}})"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
