"""Every limit of the engine in one place.

A limit that is passed tells its name to whoever passed it, and how it is raised.
"""

from __future__ import annotations

import attrs
from attrs import frozen

from .checks import is_whole, refuse


def raising(name: str) -> str:
    """How a limit is raised, for the end of the sentence that names it."""
    return f"(Limits({name}=...) raises it)"


@frozen(kw_only=True)
class Limits:
    """What one process accepts and does at the same time.

    Give another value to the ``limits=`` of a server, a client or a transport.
    """

    message_bytes: int = 4 * 1024 * 1024
    """One JSON-RPC message: a line on stdio, a body on HTTP, an event of a stream. Bytes."""

    depth: int = 64
    """How deeply arrays and objects of a message may be nested."""

    digits: int = 400
    """Decimal digits of one integer in a message."""

    uri_bytes: int = 8 * 1024
    """The URI of a resource that is read, or whose variables are to be suggested. Characters,
    which are bytes where it is encoded."""

    completion_bytes: int = 4096
    """What was typed so far, where suggestions are asked for, and each argument beside it.
    Characters."""

    token_bytes: int = 64 * 1024
    """A ``requestState``, sealed or received. Characters, which are bytes on the wire."""

    arguments_bytes: int = 1024 * 1024
    """The arguments of one call, as JSON. Bytes."""

    questions: int = 16
    """Questions of one round."""

    repeats: int = 5
    """How often one unchanged question is put again before the call ends as failed."""

    unusable: int = 2
    """How often an accepted answer that fails its schema is asked for again."""

    rounds: int = 1000
    """Rounds of one flow, polls included, after which the server ends it as failed; and of one
    call of an older client, whatever asks."""

    steps: int = 100
    """Automatic moves of a flow within one round; more is taken for an endless loop."""

    handler_seconds: float = 300.0
    """How long one round of a call may take, handlers and all, before it is cancelled. A handler
    of a whole method has no such limit."""

    concurrent_calls: int = 256
    """Calls that one stdio connection, or one HTTP application, runs at a time; further ones
    wait their turn."""

    waiting_calls: int = 4096
    """Calls that wait there for their turn; further ones are refused."""

    pending_bytes: int = 32 * 1024 * 1024
    """Bytes of the calls that run or wait there; a further one is refused unless it is alone. As
    much again of open calls of older clients, over HTTP, with answers that are not served yet.

    Decoded, JSON of the most wasteful kind takes 24 times its bytes."""

    subscriptions: int = 256
    """Subscriptions that one server, one stdio connection or one HTTP application keeps open;
    further ones are refused. They take no place of calls."""

    subscription_bytes: int = 16 * 1024
    """One ``subscriptions/listen`` request, which is kept as long as its subscription. Bytes.

    Decoded, JSON of the most wasteful kind takes 24 times its bytes."""

    question_seconds: float = 600.0
    """How long a question waits for its answer while the call of an older client is open, where
    the question does not say so itself. Then it counts as cancelled."""

    open_seconds: float = 3600.0
    """How long a whole call of an older client may be open, questions and polls included."""

    sessions: int = 1024
    """Sessions of older clients that one HTTP application keeps. Idle ones give way to further
    ones, which are refused where none is idle."""

    session_seconds: float = 3600.0
    """How long such a session is kept while nothing is heard of its client and no request of it
    is open."""

    page: int = 100
    """Items on a page of a list."""

    listed: int = 10_000
    """Items that a client takes from one list, over all its pages; an empty page counts as one."""

    schema_bytes: int = 256 * 1024
    """The ``outputSchema`` of a tool that a client is to check results by. Bytes, as JSON."""

    def __attrs_post_init__(self) -> None:
        refuse("Limits", filter(None, map(_fault, attrs.asdict(self).items())))


def _fault(limit: tuple[str, object]) -> str | None:
    name, value = limit
    seconds = name.endswith("_seconds")
    if not (is_whole(value) or (seconds and isinstance(value, float))):
        wanted = "a number" if seconds else "a whole number"
        return f"{name} must be {wanted}, not {value!r}"
    # Asked this way round, NaN is refused too.
    return None if value >= 1 else f"{name} must be at least 1, not {value}"
