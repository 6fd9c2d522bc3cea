"""The one door of sealed states: what a token is bound to, and for how long.

Specification: basic/patterns/mrtr, "Server Requirements" 4 and 5.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Sequence
from functools import cache
from hmac import compare_digest
from typing import Final, cast, final

from ..errors import SealingError, UsageError
from ..jsonrpc import DEFAULT_LIMITS
from ..limits import Limits
from .claims import FORMAT, Claims, Envelope, Origin, claims_of, pack_kept, read, write
from .codec import Codec, SecretBoxCodec
from .digests import SALT_BYTES, principal_tag
from .errors import Reason, TokenRefused
from .keys import generate_key

logger = logging.getLogger("antiphon.sealing")

LEEWAY: Final = 10.0
"""Seconds by which the clock of the worker that sealed may be ahead of this one's."""

_NOBODY: Final = Origin("", "", {}, None)
_NOTHING: Final = Claims(
    flow_id="", round=0, started=0.0, tag="", version=0, state=b"", questions={}
)


@final
class StateSealer:
    """Seals claims into tokens and opens them again, for the very origin only.

    Args:
        keys: the first seals, all open (see :class:`~.keys.KeyRing`). Without keys and codec a
            key is made at start: tokens then open in this process alone.
        codec: in place of keys; everything else that is promised here holds all the same.
        ttl: seconds for which a token opens, counted anew from each seal.
        audience: whom the tokens are for; the server's name. Servers that share keys and differ
            in audience do not open each other's tokens.
        limits: of these, ``token_bytes``.
        clock: the wall clock, in epoch seconds; the same in all workers, within 10 seconds.

    Raises:
        UsageError: keys and codec together, an unusable key or codec, a ttl that is no positive
            number, an empty audience.
    """

    def __init__(
        self,
        *,
        keys: Sequence[bytes | str] | None = None,
        codec: Codec | None = None,
        ttl: float = 600.0,
        audience: str,
        limits: Limits = DEFAULT_LIMITS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.ephemeral: Final = keys is None and codec is None
        """Whether the key was made at start, and is shared with nobody."""
        self._codec: Final = _chosen(keys, codec)
        self._ttl: Final = _lasting(ttl)
        self._audience: Final = _named(audience)
        self._limit: Final = limits.token_bytes
        self._clock: Final = clock
        self._decoy: Final = write(self._stamped(_NOBODY, _NOTHING, 0.0))

    def seal(self, origin: Origin, claims: Claims) -> str:
        """A token that opens for this origin until its time is over.

        Raises:
            SealingError: a claim cannot be carried, the codec fails, or the token is larger
                than limit ``token_bytes``.
        """
        token = self._sealed(write(self._stamped(origin, claims, self._clock())))
        if len(token) > self._limit:
            raise SealingError(
                f"The sealed state {claims.tag!r} has {len(token)} characters; limit token_bytes "
                f"is {self._limit}. Keep less in the state, or raise the limit by "
                "Limits(token_bytes=...)"
            )
        return token

    def open(self, token: str, origin: Origin) -> Claims:
        """The claims of a token that was sealed for this origin and has not expired.

        Raises:
            TokenRefused: with the true reasons, for the log; a peer is told none of them.
        """
        if len(token) > self._limit:
            # Its length is nothing that the sender does not know.
            raise TokenRefused(Reason.TOO_LARGE)
        refusal: TokenRefused | None = None
        try:
            envelope, claims = self._read(token)
        except TokenRefused as error:
            refusal = error
            # What does not open is checked too, as a decoy: a token of which nothing can be
            # read takes as long to refuse as one that has merely expired.
            envelope = read(self._decoy)
            claims = claims_of(envelope)
        failed = self._failed(envelope, origin)
        if refusal is not None:
            self._report(refusal)
            raise refusal
        if failed:
            raise TokenRefused(*failed, flow_id=claims.flow_id)
        return claims

    def _read(self, token: str) -> tuple[Envelope, Claims]:
        envelope = read(self._unsealed(token))
        return envelope, claims_of(envelope)

    def _stamped(self, origin: Origin, claims: Claims, now: float) -> Envelope:
        salt = os.urandom(SALT_BYTES)
        return Envelope(
            format=FORMAT,
            issued=now,
            expires=now + self._ttl,
            audience=self._audience,
            method=origin.method,
            target=origin.target,
            arguments=origin.digest,
            salt=salt,
            principal=principal_tag(origin.principal, salt),
            flow_id=claims.flow_id,
            round=claims.round,
            started=claims.started,
            tag=claims.tag,
            version=claims.version,
            state=claims.state,
            questions=dict(claims.questions),
            kept=pack_kept(claims.kept),
            asked=claims.asked,
            unusable=claims.unusable,
            span=claims.span,
            spent=list(claims.spent),
        )

    def _failed(self, envelope: Envelope, origin: Origin) -> tuple[Reason, ...]:
        """Every check that fails. All are made, so that the time taken tells none of them."""
        now = self._clock()
        tag = principal_tag(origin.principal, envelope.salt)
        # Written so that a clock which says NaN refuses.
        checks = (
            (Reason.PRINCIPAL, compare_digest(envelope.principal, tag)),
            (Reason.AUDIENCE, envelope.audience == self._audience),
            (Reason.METHOD, envelope.method == origin.method),
            (Reason.TARGET, envelope.target == origin.target),
            (Reason.ARGUMENTS, compare_digest(envelope.arguments, origin.digest)),
            (Reason.EXPIRED, now < envelope.expires),
            (Reason.FUTURE, envelope.issued <= now + LEEWAY),
        )
        return tuple(reason for reason, holds in checks if not holds)

    def _sealed(self, payload: bytes) -> str:
        try:
            token = cast(object, self._codec.seal(payload))
        except Exception as error:  # noqa: BLE001 - whatever it raises, nothing is minted
            # Its text may hold what was to be sealed; the error itself stays the context.
            raise SealingError(f"The codec cannot seal: it raised {_kind(error)}") from None
        if not isinstance(token, str):
            raise SealingError(f"The codec's seal must return str, not {_kind(token)}")
        if not token or not token.isascii():
            raise SealingError("The codec's seal must return ASCII text that is not empty")
        return token

    def _unsealed(self, token: str) -> bytes:
        try:
            payload = cast(object, self._codec.unseal(token))
        except TokenRefused:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it raises, nothing opens
            raise TokenRefused(Reason.CODEC, detail=f"it raised {_kind(error)}") from None
        if not isinstance(payload, bytes):
            detail = f"unseal must return bytes, not {_kind(payload)}"
            raise TokenRefused(Reason.CODEC, detail=detail)
        return payload

    def _report(self, refusal: TokenRefused) -> None:
        if self.ephemeral and refusal.reason is Reason.UNKNOWN_KEY:
            warn_of_another_key()

    def __repr__(self) -> str:
        return (
            f"StateSealer(audience={self._audience!r}, ttl={self._ttl!r}, "
            f"ephemeral={self.ephemeral})"
        )


@cache
def warn_of_another_key() -> None:
    """Say once per process what an operator has to change."""
    logger.warning(
        "A requestState was sealed under a key that this server does not hold, and this server "
        "made its own key at start. If several workers serve it, or rounds must outlive a "
        "restart, give all of them the same keys: Server(..., keys=[...]); antiphon keygen makes "
        "a key"
    )


def _chosen(keys: Sequence[bytes | str] | None, codec: Codec | None) -> Codec:
    if codec is None:
        return SecretBoxCodec([generate_key()] if keys is None else keys)
    if keys is not None:
        raise UsageError("Give keys or a codec, not both: a codec brings its own keys")
    for name in ("seal", "unseal"):
        if not callable(getattr(codec, name, None)):
            raise UsageError(f"The codec has no method {name}")
    return codec


def _lasting(ttl: float) -> float:
    number = cast(object, ttl)
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise UsageError(f"ttl must be a number of seconds, not {_kind(number)}")
    if not (math.isfinite(number) and number > 0):
        raise UsageError(f"ttl must be a positive and finite number of seconds, not {number}")
    return float(number)


def _named(audience: str) -> str:
    if not (audience and audience.strip()):
        raise UsageError(
            "The audience is empty: give the server a name, or the policy an audience, so that "
            "no other server opens its states"
        )
    return audience


def _kind(value: object) -> str:
    return type(value).__name__
