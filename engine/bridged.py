"""A request whose questions are put to the client while it is open."""

from __future__ import annotations

from attrs import define, field

from .exchange import Exchange
from .sealing import StateSealer


@define(kw_only=True)
class BridgedExchange(Exchange):
    """An exchange with a peer that is asked at once, and never given a token.

    Attributes:
        sealer: keeps the states between the rounds of a call, which do not leave the process:
            no key is shared for them, and no time limits them.
        timeouts: seconds for the answers of the present round, by the keys of their questions,
            where a question says so itself.
    """

    sealer: StateSealer
    timeouts: dict[str, float] = field(factory=dict[str, float])


def sealer_for(exchange: Exchange, sealer: StateSealer) -> StateSealer:
    """What seals the state of a request: ``sealer``, unless it is bridged."""
    return exchange.sealer if isinstance(exchange, BridgedExchange) else sealer
