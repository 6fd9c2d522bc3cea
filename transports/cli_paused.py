"""Calls that are put away with their questions: where they are kept, and how they are shown.

They stand in a store in the user's state directory (XDG Base Directory Specification), and
beside it where each one's server is, which a stored call itself does not say.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from ..engine.driver import Conversation
from ..engine.errors import UsageError
from ..engine.jsonrpc import JsonObject, JsonValue
from ..engine.store import ConversationStore, StoredCall
from .cli_exits import Exit
from .cli_parser import Connection
from .cli_run import print_out
from .cli_screen import Screen
from .cli_show import as_json, present
from .cli_text import one_line, shortened
from .connect import is_url
from .store_sqlite import open_store


def state_directory() -> Path:
    """Where this user's paused calls are kept; others cannot look into it."""
    given = os.environ.get("XDG_STATE_HOME", "")
    # A relative path is to be ignored, the specification says.
    base = Path(given) if os.path.isabs(given) else Path.home() / ".local" / "state"
    place = base / "antiphon"
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"Paused calls cannot be kept in {place}: {error.strerror}") from None
    return place


@asynccontextmanager
async def paused_calls() -> AsyncGenerator[ConversationStore, None]:
    """The store of paused calls."""
    async with open_store(state_directory() / "calls.sqlite") as store:
        yield store


async def put_away(conversation: Conversation[Any], connection: Connection, screen: Screen) -> Exit:
    """Store a call with its questions, and say how to go on with it; the exit status."""
    async with paused_calls() as store:
        id = await store.save(conversation)
        keep_target(id, connection.target)
        [call] = [call for call in await store.list() if call.id == id]
    tell_paused(call, screen, json=connection.json)
    return Exit.PAUSED


def tell_paused(call: StoredCall, screen: Screen, *, json: bool) -> None:
    """Say how to go on with a call that is put away; in JSON that is the result."""
    if json:
        print_out(as_json({"paused": paused_json(call)}))
    else:
        screen.say(f"It is put away as {call.id}; antiphon resume {call.id} goes on with it")


# -- where the servers are --------------------------------------------------------------------


def keep_target(id: str, target: str | Sequence[str]) -> None:
    """Remember where the server of a call is, without the credentials of an address."""
    text = json.dumps(_without_user(target) if is_url(target) else target)
    file = os.open(_target_file(id), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(file, "w") as stream:
        stream.write(text)


def kept_target(id: str) -> str | list[str] | None:
    """Where the server of a call is; None where that was not kept."""
    try:
        target = json.loads(_target_file(id).read_text())
    except (OSError, ValueError):
        return None
    if isinstance(target, list):
        return [str(word) for word in cast("list[object]", target)]
    return target if isinstance(target, str) else None


def forget_targets(but: Collection[str]) -> None:
    """Forget where servers are, but for those of these calls."""
    for file in state_directory().glob("*.target"):
        if file.stem not in but:
            with suppress(OSError):
                file.unlink()


def _target_file(id: str) -> Path:
    return state_directory() / f"{id}.target"


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))


# -- how they are shown -----------------------------------------------------------------------


def paused_json(call: StoredCall) -> JsonObject:
    """A paused call for a program; times in seconds since the epoch."""
    asked: list[JsonValue] = [
        present({"key": one.key, "kind": one.kind, "message": one.message, "host": one.host})
        for one in call.asked
    ]
    return present(
        {
            "id": call.id,
            "server": call.server,
            "via": call.via,
            "method": call.method,
            "name": call.name,
            "saved": call.saved,
            "deadline": call.deadline,
            "asked": asked,
            "heldUntil": call.held_until,
            "uncertain": call.uncertain,
            "fault": call.fault,
        }
    )


def paused_text(call: StoredCall) -> str:
    """A paused call for a person."""
    if call.fault is not None:
        return f"{call.id}  cannot be read: {one_line(call.fault)}"
    lines = [f"kept since {_when(call.saved)}{_until(call)}, from {one_line(call.via)}"]
    for one in call.asked:
        leads = f" ({one_line(one.host)})" if one.host else ""
        lines += f"asks: {shortened(one.message)}{leads}".splitlines()
    if call.held_until is not None:
        lines.append("another process is going on with it")
    if call.uncertain:
        lines.append("an answer was on its way when its process ended; --again sends it again")
    head = f"{call.id}  {one_line(call.name)} of {one_line(call.server)}"
    return "\n".join([head, *(f"    {line}" for line in lines)])


def _until(call: StoredCall) -> str:
    return "" if call.deadline is None else f" until {_when(call.deadline)}"


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")
