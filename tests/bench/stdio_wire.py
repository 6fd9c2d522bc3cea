"""A server on standard input and output."""

import os
import select
import subprocess
from typing import Final

_STALL: Final = 30.0
_CHUNK: Final = 256 * 1024


class StdioWire:
    """Lines to and from a server process."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.pid = process.pid
        self._into = process.stdin
        self._out = process.stdout.fileno()
        self._rest = b""

    def send(self, requests: list[bytes]) -> None:
        # With 64 of these lines under way at most, the two pipes hold them all.
        self._into.writelines(request + b"\n" for request in requests)
        self._into.flush()

    def receive(self) -> list[bytes]:
        lines: list[bytes] = []
        while not lines:
            if not select.select([self._out], [], [], _STALL)[0]:
                raise RuntimeError(f"The server said nothing for {_STALL:g} seconds")
            data = os.read(self._out, _CHUNK)
            if not data:
                raise RuntimeError("The server has ended")
            *lines, self._rest = (self._rest + data).split(b"\n")
        return lines
