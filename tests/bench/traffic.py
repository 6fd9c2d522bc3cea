"""The measured flow on the wire: a tool is called, asks one form, is answered and completes.

Requests are written once and filled in, and replies are only searched: the client costs next to
nothing, so that what is measured is the server.
"""

import re
import time
from itertools import count
from typing import Final, Protocol

from attrs import frozen

from antiphon.engine.jsonrpc import JsonObject, JsonValue, dumps
from antiphon.engine.protocol import META_CAPABILITIES, META_CLIENT, META_VERSION, VERSION

META: Final[JsonObject] = {
    META_VERSION: VERSION,
    META_CLIENT: {"name": "bench", "version": "1.0"},
    META_CAPABILITIES: {"elicitation": {"form": {}}},
}
ANSWER: Final[JsonObject] = {"action": "accept", "content": {"region": "eu-west-1"}}

_STATE: Final = re.compile(rb'"requestState":"([^"]+)"')
_KEY: Final = re.compile(rb'"inputRequests":\{"([^"]+)"')
_DONE: Final = b'"structuredContent":{"name":"orders","region":"eu-west-1"}'


def call(**members: JsonValue) -> JsonObject:
    """The parameters of one ``tools/call``."""
    return {"_meta": META, "name": "provision", "arguments": {"name": "orders"}, **members}


def _template(**members: JsonValue) -> bytes:
    request = {"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": call(**members)}
    return dumps(request).replace(b'"id":0', b'"id":%d')


_OPENING: Final = _template()
_CONTINUING: Final = _template(requestState="%b", inputResponses={"%b": ANSWER})


class Requests:
    """What a client says: each request has an id of its own."""

    def __init__(self) -> None:
        self._ids = count(1)

    def first(self) -> bytes:
        """The request that opens a flow."""
        return _OPENING % next(self._ids)

    def after(self, reply: bytes) -> bytes | None:
        """The request that answers the question in a reply; None where the flow is complete.

        Raises:
            RuntimeError: the reply is none of this flow.
        """
        state, key = _STATE.search(reply), _KEY.search(reply)
        if state is not None and key is not None:
            return _CONTINUING % (next(self._ids), state[1], key[1])
        if _DONE not in reply:
            raise RuntimeError(f"The server answered {reply!r}")
        return None


def token_of(reply: bytes) -> bytes:
    """The sealed state in a reply that asks."""
    state = _STATE.search(reply)
    assert state is not None
    return state[1]


class Wire(Protocol):
    """A connected server process."""

    pid: int

    def send(self, requests: list[bytes]) -> None:
        """Send requests; at most the window is under way."""
        ...

    def receive(self) -> list[bytes]:
        """Wait for replies, in any order and at least one."""
        ...


@frozen
class Load:
    """How many flows were completed, in how many seconds."""

    flows: int
    seconds: float


def load(wire: Wire, window: int, seconds: float) -> Load:
    """Keep ``window`` flows under way for some time, then let them end."""
    requests = Requests()
    started = time.perf_counter()
    flows, under_way = 0, window
    wire.send([requests.first() for _ in range(window)])
    while under_way:
        following: list[bytes] = []
        for reply in wire.receive():
            request = requests.after(reply)
            if request is None:
                flows += 1
                if time.perf_counter() - started > seconds:
                    under_way -= 1
                    continue
                request = requests.first()
            following.append(request)
        wire.send(following)
    return Load(flows, time.perf_counter() - started)
