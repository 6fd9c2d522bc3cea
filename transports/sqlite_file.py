"""An SQLite file of ours: made for its owner alone, opened, recognized, and its transactions.

All of it blocks, and runs in a thread.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from typing import Final

from ..engine.errors import printable
from ..engine.store_errors import StoreUnusable

APPLICATION: Final = 0x616E7470
"""``antp``: what tells a store from every other SQLite file (PRAGMA application_id)."""

SCHEMA_VERSION: Final = 1

SCHEMA: Final = """
CREATE TABLE conversations (
    id TEXT PRIMARY KEY NOT NULL,
    created REAL NOT NULL,
    saved REAL NOT NULL,
    deadline REAL,
    holder TEXT,
    held_until REAL,
    sending INTEGER NOT NULL,
    body BLOB NOT NULL
) WITHOUT ROWID
"""

BUSY_SECONDS: Final = 10.0
"""How long one process waits for another one's transaction, which takes milliseconds."""

_PAUSE: Final = 0.02
_EMPTY: Final = (0, 0, 0)
_FAULTS: Final = (sqlite3.Error, UnicodeError)


def open_file(path: str) -> sqlite3.Connection:
    """Open a store's file, which is made where there is none.

    Raises:
        StoreUnusable: it cannot be opened, is damaged, something else, or of a newer version.
    """
    with told(path):
        whole = os.path.abspath(path)  # no name of a file means anything else to SQLite then
        _made_for_owner(whole)
        # One thread at a time has it, but not always the same.
        connection = sqlite3.connect(
            whole, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


@contextmanager
def told(path: str) -> Generator[None]:
    """Turn what SQLite and the system say into StoreUnusable."""
    try:
        yield
    except (*_FAULTS, OSError) as error:
        # What a message quotes of a damaged file may be no text at all.
        why = "it is damaged" if isinstance(error, UnicodeError) else printable(str(error))
        raise StoreUnusable(f"The store {path!r} cannot be used: {why}") from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """Do all or nothing, with no other writer in between."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(*_FAULTS):  # the first error tells the cause
            connection.execute("ROLLBACK")
        raise


def _made_for_owner(path: str) -> None:
    # SQLite gives its side files the mode of this one. Only what was just made is closed here:
    # closing any other would take SQLite's locks away ("How To Corrupt", 2.2).
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))


def _prepare(connection: sqlite3.Connection, path: str) -> None:
    # The file is not trusted with functions of its own; what is deleted is overwritten; and what
    # was committed has reached the disk before a request is sent.
    for setting in ("trusted_schema=OFF", "secure_delete=ON", "synchronous=FULL"):
        connection.execute(f"PRAGMA {setting}")
    connection.text_factory = _text
    _is_new(connection, path)  # before anything is changed in a file that is none of ours
    _to_wal(connection)
    with transaction(connection):
        if _is_new(connection, path):
            _create(connection)


def _to_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL, for which SQLite itself does not wait while another process does the same."""
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            with closing(connection.execute("PRAGMA journal_mode=WAL")):
                return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
        time.sleep(_PAUSE)


def _create(connection: sqlite3.Connection) -> None:
    connection.execute(SCHEMA)
    connection.execute(f"PRAGMA application_id={APPLICATION}")
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")


def _is_new(connection: sqlite3.Connection, path: str) -> bool:
    """Whether a file is empty; raises StoreUnusable where it holds anything but a store."""
    application = _number(connection, "PRAGMA application_id")
    version = _number(connection, "PRAGMA user_version")
    if (application, version, _number(connection, "SELECT count(*) FROM sqlite_master")) == _EMPTY:
        return True
    if application != APPLICATION:
        raise StoreUnusable(f"{path!r} is an SQLite file, but no store of conversations")
    if version > SCHEMA_VERSION:
        raise StoreUnusable(
            f"The store {path!r} has format {version}; this version reads up to {SCHEMA_VERSION}. "
            "Open it with the version that wrote it, or a newer one"
        )
    if version < 1:
        raise StoreUnusable(f"The store {path!r} is damaged")
    return False


def _number(connection: sqlite3.Connection, query: str) -> int:
    number: int = connection.execute(query).fetchone()[0]
    return number


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
