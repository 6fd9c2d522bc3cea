"""What is measured of one side, in a process of its own: samples by name, a set a round."""

import socket
import subprocess
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from typing import Final, TypeAlias

from tests.bench.http_wire import HttpWire
from tests.bench.processes import cpu_seconds, resident_bytes, running
from tests.bench.stdio_wire import StdioWire
from tests.bench.traffic import Requests, Wire, load, token_of

Samples: TypeAlias = Mapping[str, float]
Probe: TypeAlias = Callable[[float], Samples]
"""Takes samples for about as many seconds."""

RATE: Final = "flows per second"
CPU_RATE: Final = "flows per second of the measured process's own processor time"
FIRST_REPLY: Final = "seconds to the first reply"
FIRST_REPLY_CPU: Final = "processor seconds to the first reply"
RESIDENT: Final = "resident bytes"
TOKEN: Final = "characters of the token"

_SETTLING: Final = 0.3


@contextmanager
def stdio(side: str, *, window: int) -> Generator[Probe, None, None]:
    """Flows over standard input and output, ``window`` of them under way."""
    with running(f"tests.bench.{side}") as process:
        yield partial(_loaded, StdioWire(process), window)


@contextmanager
def http(side: str, *, connections: int) -> Generator[Probe, None, None]:
    """Flows over HTTP: the side's application on hypercorn's trio worker."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        fd, port = listener.fileno(), listener.getsockname()[1]
        command = ["hypercorn", "-k", "trio", "-w", "0", "--log-level", "warning"]
        # A side that waits for its turn keeps its connections.
        command += ["--keep-alive", "600", "--bind", f"fd://{fd}", f"tests.bench.{side}:app"]
        with (
            running(*command, pass_fds=[fd]) as process,
            closing(HttpWire(process.pid, port, connections)) as wire,
        ):
            yield partial(_loaded, wire, connections)


def _loaded(wire: Wire, window: int, seconds: float) -> Samples:
    before = cpu_seconds(wire.pid)
    done = load(wire, window, seconds)
    used = cpu_seconds(wire.pid) - before
    return {RATE: done.flows / done.seconds, CPU_RATE: done.flows / used}


@contextmanager
def in_process(side: str, *, part: str) -> Generator[Probe, None, None]:
    """Flows in one process, one after the other: ``part`` is ``client`` or ``server``."""
    module = ["in_process_ours"] if side == "ours" else ["in_process_theirs", side]
    with running(f"tests.bench.{module[0]}", *module[1:]) as process:
        yield partial(_counted, process, part)


@contextmanager
def client_alone(side: str, *, over: str) -> Generator[Probe, None, None]:
    """Flows of a client, one after the other, with a canned server: over ``memory`` or ``http``."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        fd, port = listener.fileno(), listener.getsockname()[1]
        url = f"http://127.0.0.1:{port}/mcp"
        with (
            running("tests.bench.canned_http", f"{fd}", pass_fds=[fd]),
            running(f"tests.bench.client_{side}", url) as process,
        ):
            yield partial(_counted, process, over)


def _counted(process: "subprocess.Popen[bytes]", part: str, seconds: float) -> Samples:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{part} {seconds}\n".encode())
    process.stdin.flush()
    flows, spent, used = map(float, process.stdout.readline().split())
    return {RATE: flows / spent, CPU_RATE: flows / used}


@contextmanager
def fresh(side: str) -> Generator[Probe, None, None]:
    """A server on standard input and output, started anew for each set of samples."""
    yield lambda _: _started(side)


def _started(side: str) -> Samples:
    started = time.perf_counter()
    with running(f"tests.bench.{side}") as process:
        wire = StdioWire(process)
        wire.send([Requests().first()])
        (reply,) = wire.receive()
        waited, used = time.perf_counter() - started, cpu_seconds(process.pid)
        load(wire, 8, _SETTLING)
        return {
            FIRST_REPLY: waited,
            FIRST_REPLY_CPU: used,
            RESIDENT: resident_bytes(process.pid),
            TOKEN: len(token_of(reply)),
        }
