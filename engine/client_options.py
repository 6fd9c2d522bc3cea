"""What a client can be told, once for all who make one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Final, TypedDict, cast

from attrs import field, frozen

from .answering import Audit, Callbacks, ElicitationCallback, RootsSource, SamplingCallback
from .asked_round import KINDS, capabilities
from .call_errors import Kind
from .checks import is_async
from .conversation import Rules
from .errors import UsageError
from .hearing import LogCallback
from .jsonrpc import JsonObject
from .limits import Limits
from .meta_keys import check_extensions
from .pacing import Backoff, Schedule
from .protocol import LOG_LEVELS, Implementation, LogLevel
from .reconnecting import RECONNECT
from .result_cache import ResultCache
from .retrying import RetryPolicy

ANTIPHON: Final = Implementation("antiphon", "0.1.0")


class ClientOptions(TypedDict, total=False):
    """The keyword arguments of a client; :class:`Settings` says what each means."""

    elicitation: ElicitationCallback | None
    sampling: SamplingCallback | None
    roots: RootsSource | None
    refuse: Collection[str]
    audit: Audit | None
    max_rounds: int
    max_polls: int
    deadline: float | None
    leg_timeout: float | None
    people_timeout: float | None
    schedule: Schedule
    retry: RetryPolicy | None
    reconnect: RetryPolicy | None
    cache: ResultCache | None
    check_results: bool
    log: LogCallback | None
    log_level: LogLevel
    extensions: Mapping[str, JsonObject]
    client_info: Implementation
    limits: Limits
    clock: Callable[[], float]


@frozen(kw_only=True)
class Settings:
    """How a client behaves.

    Attributes:
        elicitation: an async function that answers forms and links.
        sampling: an async function that answers for a language model.
        roots: an async function that lists roots, or the list.
        refuse: kinds of question that are neither declared nor answered, whatever callbacks
            there are: form, url, sampling, roots.
        audit: called with an :class:`~.answering.AuditEntry` for every question.
        max_rounds: rounds with questions that one call may take.
        max_polls: rounds without questions that one call may take.
        deadline: seconds for a whole call, callbacks included; None for no end.
        leg_timeout: seconds for each request on the wire, never for a person; None for no end.
        people_timeout: seconds for all callbacks of one call together; None for no end.
        schedule: when to ask again a server that is not ready.
        retry: when a request that failed is sent again, where that does no harm; None for never.
        reconnect: when a lost subscription is made again; None for never.
        cache: keeps lists, discovery and resources for as long as the server calls them fresh;
            None to keep nothing. Without it each client has one of its own.
        check_results: whether results of tools are held against the ``outputSchema`` that the
            tool was listed with.
        log: a plain function for the log messages of servers; without it none are asked for.
        log_level: from which level on they are asked for.
        extensions: those that the client supports, by identifier, with their settings.
        client_info: how the client names itself.
        limits: what it takes from a server.
        clock: the wall clock, in seconds since the epoch. Deadlines are kept by it.

    Raises:
        UsageError: a value makes no sense.
    """

    elicitation: ElicitationCallback | None = None
    sampling: SamplingCallback | None = None
    roots: RootsSource | None = None
    refuse: Collection[str] = ()
    audit: Audit | None = None
    max_rounds: int = 10
    max_polls: int = 1000
    deadline: float | None = None
    leg_timeout: float | None = 60.0
    people_timeout: float | None = None
    schedule: Schedule = field(factory=Backoff)
    retry: RetryPolicy | None = field(factory=RetryPolicy)
    reconnect: RetryPolicy | None = RECONNECT
    cache: ResultCache | None = field(factory=ResultCache)
    check_results: bool = True
    log: LogCallback | None = None
    log_level: LogLevel = "info"
    extensions: Mapping[str, JsonObject] = field(factory=dict[str, JsonObject])
    client_info: Implementation = ANTIPHON
    limits: Limits = field(factory=Limits)
    clock: Callable[[], float] = time.time

    def __attrs_post_init__(self) -> None:
        refuse = [self.refuse] if isinstance(self.refuse, str) else self.refuse
        if isinstance(self.refuse, str) or set(refuse) - set(KINDS):
            told = ", ".join(map(repr, refuse))
            raise UsageError(f"refuse takes a collection of {', '.join(KINDS)}; not {told}")
        if isinstance(self.roots, str):
            raise UsageError("roots takes a sequence of roots, or an async function")
        for name in ("deadline", "leg_timeout", "people_timeout"):
            check_seconds(name, getattr(self, name))
        for name in ("max_rounds", "max_polls"):
            if getattr(self, name) < 0:
                raise UsageError(f"{name} must not be negative")
        if self.log_level not in LOG_LEVELS:
            raise UsageError(f"log_level takes {', '.join(LOG_LEVELS)}; not {self.log_level!r}")
        check_extensions(self.extensions)
        check_plain("audit", self.audit)
        check_plain("log", self.log)

    def declared(self, kinds: Collection[Kind]) -> JsonObject:
        """What the client declares where it answers these kinds of question."""
        declared = capabilities(kinds)
        if self.extensions:
            declared["extensions"] = {**self.extensions}
        return declared

    @cached_property
    def refused(self) -> frozenset[Kind]:
        """The kinds that are refused."""
        return cast("frozenset[Kind]", frozenset(self.refuse))

    @cached_property
    def callbacks(self) -> Callbacks:
        """Those who answer."""
        return Callbacks(elicitation=self.elicitation, sampling=self.sampling, roots=self.roots)

    @cached_property
    def rules(self) -> Rules:
        """What one conversation may take."""
        return Rules(
            max_rounds=self.max_rounds,
            max_polls=self.max_polls,
            questions=self.limits.questions,
            schedule=self.schedule,
        )


def check_seconds(name: str, seconds: float | None) -> float:
    """The seconds as a number, infinity for None.

    Raises:
        UsageError: they are negative or no number.
    """
    if seconds is None:
        return math.inf
    if not seconds >= 0:
        raise UsageError(f"{name} must be seconds from now, not {seconds}")
    return seconds


def check_plain(name: str, hears: object) -> None:
    """Refuse an async function where one is called that nobody awaits: it would do nothing.

    Raises:
        UsageError: it is one.
    """
    if hears is not None and is_async(hears):
        raise UsageError(f"{name} takes a plain function, and this one is async")
