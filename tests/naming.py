"""Names for parameters of tests."""

import re


def shown(value: object) -> str:
    """What it is, without an address: processes that share the tests know them by their names."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
