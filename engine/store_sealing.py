"""Stored conversations under seal, so that a stolen file tells nothing of them.

Key id (4), nonce (24) and a NaCl secretbox of ``[label, id, dump]``. The id inside lets no entry
take the place of another. That an entry was put back as it was at an earlier time is not found.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final, Protocol

import msgspec
from attrs import frozen
from nacl.bindings import (
    crypto_secretbox,
    crypto_secretbox_MACBYTES,
    crypto_secretbox_NONCEBYTES,
    crypto_secretbox_open,
)
from nacl.exceptions import CryptoError

from .call_errors import UnreadableDump
from .sealing.keys import ID_BYTES, Key, KeyRing

# A label of our own: what is sealed here opens nowhere else, should the keys be used twice.
_PURPOSE: Final = b"antiphon conversation store"
_LABEL: Final = "antiphon/kept"
_BOX: Final = ID_BYTES + crypto_secretbox_NONCEBYTES
_LEAST: Final = _BOX + crypto_secretbox_MACBYTES

_read: Final = msgspec.msgpack.Decoder(tuple[str, str, bytes]).decode


class Wrapping(Protocol):
    """How a conversation becomes the body of a record."""

    def wrap(self, id: str, dump: bytes, /) -> bytes:
        """The body of the record of this id."""
        ...

    def unwrap(self, id: str, body: bytes, /) -> bytes:
        """The conversation; raises UnreadableDump."""
        ...


@frozen
class Plain:
    """Conversations in the clear."""

    def wrap(self, _id: str, dump: bytes, /) -> bytes:
        """The dump itself."""
        return dump

    def unwrap(self, _id: str, body: bytes, /) -> bytes:
        """The dump itself."""
        return body


class Sealed:
    """Conversations under seal: the first key seals, all open.

    Raises:
        UsageError: the keys cannot be used.
    """

    def __init__(self, keys: Sequence[bytes | str]) -> None:
        self._ring: Final = KeyRing(keys)

    def wrap(self, id: str, dump: bytes) -> bytes:
        """Encrypt and authenticate with the first key."""
        key = self._ring.sealing
        nonce = os.urandom(crypto_secretbox_NONCEBYTES)
        inner = msgspec.msgpack.encode((_LABEL, id, dump))
        return key.id + nonce + crypto_secretbox(inner, nonce, _secret(key))

    def unwrap(self, id: str, body: bytes) -> bytes:
        """Open with the key that the body names.

        Raises:
            UnreadableDump: it is not sealed, by another key or for another entry, or damaged.
        """
        key = self._ring.find(body[:ID_BYTES])
        if key is None or len(body) < _LEAST:
            raise UnreadableDump("The stored conversation is not sealed by a key of this store")
        try:
            inner = crypto_secretbox_open(body[_BOX:], body[ID_BYTES:_BOX], _secret(key))
            label, sealed_for, dump = _read(inner)
        except (CryptoError, msgspec.MsgspecError):
            raise UnreadableDump("The stored conversation is damaged or forged") from None
        if (label, sealed_for) != (_LABEL, id):
            raise UnreadableDump("The stored conversation was sealed for another entry")
        return dump


def _secret(key: Key) -> bytes:
    return blake2b(key.secret, digest_size=32, key=_PURPOSE).digest()


def wrapping(keys: Sequence[bytes | str] | None) -> Wrapping:
    """Sealed where there are keys.

    Raises:
        UsageError: the keys cannot be used.
    """
    return Plain() if keys is None else Sealed(keys)
