"""A process that plays a script: messages, and what only processes do. Standard library alone.

It writes down how far it has come, and goes on there when it is started again. An act is a
message, or an object with one of the members that :func:`act` knows.
"""

import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
POSITION, ASKED = FOLDER / "position", FOLDER / "asked"
BEFORE: list[bytes] = []


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def filled(text: str, id: bytes) -> bytes:
    """A message with the id of its request, or of the one before."""
    data = text.encode("latin-1").replace(b'"$ID"', id)
    return data.replace(b'"$BEFORE"', BEFORE[-1]) if BEFORE else data


def flood(data: bytes) -> None:
    """Bytes without an end, until there is something to read; a tick for every thousand times."""
    while not select.select([0], [], [], 0)[0]:
        write(data * 1000)
        os.write(2, b"tick\n")
    write(b"\n")


def hold(seconds: float) -> None:
    """A child of ours that has all that we have open."""
    if os.fork() == 0:
        time.sleep(seconds)
        os._exit(0)


def act(what: Any, id: bytes) -> None:
    if isinstance(what, str):
        write(filled(what, id) + b"\n")
        return
    ((name, value),) = what.items()
    if name == "raw":
        write(filled(value, id))
    elif name == "stderr":
        os.write(2, value.encode("latin-1"))
    elif name == "shout":
        for _ in range(value["count"]):
            os.write(2, value["text"].encode("latin-1"))
    elif name == "flood":
        flood(filled(value, id))
    elif name == "exit":
        os._exit(value)
    elif name == "kill":
        os.kill(os.getpid(), getattr(signal, value))
    elif name == "close":
        os.close(value)
    elif name == "fork":
        hold(value)


def main() -> None:
    told = json.loads((FOLDER / "script.json").read_text())
    script, good = told["script"], told["good"]
    position = int(POSITION.read_text()) if POSITION.exists() else 0
    POSITION.write_text(str(position))
    # Not line by line: what was read ahead would not be seen by select.
    rest = b""
    while data := os.read(0, 65536):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            request = json.loads(line)
            if "id" not in request:
                continue
            method = request["method"]
            with ASKED.open("ab") as asked:
                asked.write(line + b"\n")
            acts = [good[method]]
            if position < len(script) and script[position][0] == method:
                acts = script[position][1]
                position += 1
                POSITION.write_text(str(position))
            id = json.dumps(request["id"]).encode()
            for each in acts:
                act(each, id)
            BEFORE.append(id)


main()
