"""From a payload to a token and back.

A codec owes integrity and nothing else: what a token is bound to, and for how long, is written
inside the payload and checked by :class:`~.policy.StateSealer`.
"""

from __future__ import annotations

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Final, Protocol, final

from nacl.bindings import (
    crypto_secretbox,
    crypto_secretbox_MACBYTES,
    crypto_secretbox_NONCEBYTES,
    crypto_secretbox_open,
)
from nacl.exceptions import CryptoError

from .errors import Reason, TokenRefused
from .keys import ID_BYTES, KeyRing

PREFIX: Final = "a1."
_BOX: Final = ID_BYTES + crypto_secretbox_NONCEBYTES
_LEAST: Final = _BOX + crypto_secretbox_MACBYTES


class Codec(Protocol):
    """What turns a payload into a token. Both methods are called in the event loop: no waiting."""

    def seal(self, payload: bytes) -> str:
        """A token for the payload, in ASCII."""
        ...

    def unseal(self, token: str) -> bytes:
        """The payload of a token that :meth:`seal` made, unchanged since; raises for any other.

        The token is hostile: any text of up to ``Limits.token_bytes`` characters.
        """
        ...


@final
class SecretBoxCodec:
    """``a1.`` and the unpadded base64url of key id (4), nonce (24) and NaCl secretbox.

    Only the very string that was sealed opens. The key id needs no seal of its own: it says
    which key to try, and under any other the box does not open.

    Raises:
        UsageError: the keys cannot be used.
    """

    def __init__(self, keys: Sequence[bytes | str]) -> None:
        self._ring: Final = KeyRing(keys)

    def seal(self, payload: bytes) -> str:
        """Encrypt and authenticate with the first key."""
        key = self._ring.sealing
        nonce = os.urandom(crypto_secretbox_NONCEBYTES)
        return _text(key.id + nonce + crypto_secretbox(payload, nonce, key.secret))

    def unseal(self, token: str) -> bytes:
        """Open with the key that the token names.

        Raises:
            TokenRefused: the token is malformed, names an unknown key, or is forged.
        """
        raw = _bytes(token)
        # What is malformed, or names no key of ours, is put through a box of its size under a
        # real key all the same: the time of a refusal must not tell which check it was that
        # failed, and so not which keys this server holds.
        sealed = bytes(max(_LEAST, len(token) * 3 // 4)) if raw is None else raw
        key = self._ring.find(sealed[:ID_BYTES])
        payload = _opened(sealed, (key or self._ring.sealing).secret)
        if raw is None:
            raise TokenRefused(Reason.MALFORMED)
        if key is None:
            raise TokenRefused(Reason.UNKNOWN_KEY)
        if payload is None:
            raise TokenRefused(Reason.FORGED)
        return payload

    def __repr__(self) -> str:
        return f"SecretBoxCodec({self._ring!r})"


def _opened(sealed: bytes, secret: bytes) -> bytes | None:
    try:
        return crypto_secretbox_open(sealed[_BOX:], sealed[ID_BYTES:_BOX], secret)
    except CryptoError:
        return None


def _text(raw: bytes) -> str:
    return PREFIX + urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def _bytes(token: str) -> bytes | None:
    """The bytes of a token in canonical form, or None."""
    try:
        raw = urlsafe_b64decode(token[len(PREFIX) :] + "==")
    except ValueError:
        return None
    # The decoder skips what it does not know and drops spare bits. Writing the token anew and
    # comparing refuses all of that at once, a wrong prefix too.
    return raw if len(raw) >= _LEAST and _text(raw) == token else None
