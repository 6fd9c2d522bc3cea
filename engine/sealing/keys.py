"""The keys that states are sealed with: the first seals, all open."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final, final

from attrs import field, frozen

from ..errors import UsageError

MATERIAL_BYTES: Final = 32
"""The least length of a key as it is given."""

ID_BYTES: Final = 4

# A label of our own: material that is used elsewhere too gives another key there.
_PURPOSE: Final = b"antiphon requestState secretbox"
_ID_PERSON: Final = b"antiphon key id"


def generate_key() -> str:
    """A new key: 32 random bytes as base64url text, ready to stand in ``keys=[...]``."""
    return secrets.token_urlsafe(MATERIAL_BYTES)


@frozen
class Key:
    """A derived key. Its ``id`` stands in the clear in each token that it seals."""

    id: bytes = field(repr=bytes.hex)
    secret: bytes = field(repr=False)


@final
class KeyRing:
    """Keys in order, for the three-phase rotation.

    Give ``[old, new]`` to every worker, then ``[new, old]``, and ``[new]`` once the last token
    of the old key has expired: at each step every worker opens what every other one seals.

    Raises:
        UsageError: there is no key, or one of them cannot be used; its index is named.
    """

    def __init__(self, keys: Sequence[bytes | str]) -> None:
        if isinstance(keys, bytes | str):
            raise UsageError("keys must be a list of keys, not one key: keys=[...]")
        derived = [_derived(_material(index, key)) for index, key in enumerate(keys)]
        if not derived:
            raise UsageError("keys is empty: give at least one key, as antiphon keygen makes it")
        self.sealing: Final = derived[0]
        self._by_id: Final = _by_id(derived)

    def find(self, id: bytes) -> Key | None:
        """The key of this id."""
        return self._by_id.get(id)

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(id.hex() for id in self._by_id)})"


def _material(index: int, given: object) -> bytes:
    if not isinstance(given, bytes | str):
        raise UsageError(f"keys[{index}] must be bytes or str, not {type(given).__name__}")
    try:
        material = given.encode() if isinstance(given, str) else given
    except UnicodeEncodeError:
        raise UsageError(f"keys[{index}] is no valid text: it has a lone surrogate") from None
    if len(material) < MATERIAL_BYTES:
        raise UsageError(
            f"keys[{index}] has {len(material)} bytes; a key needs at least {MATERIAL_BYTES} bytes "
            "that nobody can guess, as antiphon keygen makes them"
        )
    return material


def _derived(material: bytes) -> Key:
    secret = blake2b(material, digest_size=32, key=_PURPOSE).digest()
    return Key(blake2b(secret, digest_size=ID_BYTES, person=_ID_PERSON).digest(), secret)


def _by_id(keys: Sequence[Key]) -> dict[bytes, Key]:
    found: dict[bytes, Key] = {}
    for index, key in enumerate(keys):
        # One key twice is harmless: a rotation that is over, or has not begun.
        if found.setdefault(key.id, key) != key:
            raise UsageError(f"keys[{index}] has the id of another key by chance; make a new one")
    return found
