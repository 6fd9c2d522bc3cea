"""What a server sends after the end of its answer, which must answer no other request.

RFC 9112, 6.3: "a client MUST NOT process, cache, or forward such extra data as a separate
response". httpcore2 (2.16) gives a connection back with such bytes still in its buffer, and takes
them for the answer to the next request; it looks only at what is still in the socket.
"""

from __future__ import annotations

from typing import Final

import h11
import httpx2

_BENEATH: Final = ("_stream", "_httpcore_stream", "_connection", "_h11_state")
_LAYERS: Final = 8


def drop_if_more_came(response: httpx2.Response) -> None:
    """Let a connection be closed, not given back, where more came than the answer it carried.

    To be called when the answer was read, before it is closed.
    """
    state = _state_of(response.stream)
    if state is not None and state.trailing_data[0]:
        # What is not in good order is closed.
        state.send_failed()


def _state_of(layer: object) -> h11.Connection | None:
    # No public way leads there. Where a version has another one, the tests tell.
    for _ in range(_LAYERS):
        if isinstance(layer, h11.Connection):
            return layer
        beneath = (getattr(layer, name, None) for name in _BENEATH)
        layer = next((found for found in beneath if found is not None), None)
    return None
