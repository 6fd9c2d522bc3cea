"""Who may reach a server from a browser: the ``Host`` and ``Origin`` guards.

A page on the web can make a browser call a server on its user's machine, and by DNS rebinding
even read the answers. Such a call carries the page's own name as ``Host`` and ``Origin``.
Specification: basic/transports/streamable-http, "Security & Endpoint".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final

from attrs import frozen

from ..engine.errors import UsageError
from .asgi_messages import Scope
from .headers import Fields
from .http_errors import Refused

_AUTHORITY: Final = r"(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(?P<port>\d{1,5}|\*))?"
_HOST: Final = re.compile(_AUTHORITY)
_ORIGIN: Final = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://" + _AUTHORITY)
_PORT: Final = re.compile(r":\d+$")


@frozen
class AllowList:
    """Hosts or origins that are admitted; an empty list admits none.

    An entry is meant exactly as a browser sends it, which leaves a scheme's own port out;
    ``:*`` in place of the port means every port, and none.
    """

    exact: frozenset[str]
    any_port: frozenset[str]

    @classmethod
    def read(cls, setting: str, entries: Sequence[str], form: re.Pattern[str]) -> AllowList:
        """Take the entries of a setting.

        Raises:
            UsageError: an entry has not the right form, or the entries are one text.
        """
        if isinstance(entries, str):
            raise UsageError(f"{setting} is a list: write {setting}=[{entries!r}]")
        lowered = [entry.lower() for entry in entries]
        for entry in lowered:
            if not form.fullmatch(entry) and not (form is _ORIGIN and entry == "null"):
                shape = "scheme://host[:port]" if form is _ORIGIN else "host[:port]"
                raise UsageError(f"{setting}: {entry!r} has not the form {shape}")
        return cls(
            frozenset(entry for entry in lowered if not entry.endswith(":*")),
            frozenset(entry[:-2] for entry in lowered if entry.endswith(":*")),
        )

    def admits(self, value: bytes) -> bool:
        """Whether a header's value is on the list."""
        text = value.decode("latin-1").lower()
        return text in self.exact or _PORT.sub("", text) in self.any_port


@frozen
class Guards:
    """The two guards of one endpoint; None leaves a guard to the address that is served on."""

    hosts: AllowList | None
    origins: AllowList | None

    @classmethod
    def of(
        cls, allowed_hosts: Sequence[str] | None, allowed_origins: Sequence[str] | None
    ) -> Guards:
        """Take the settings of :func:`~.asgi.http_app`."""
        return cls(
            None
            if allowed_hosts is None
            else AllowList.read("allowed_hosts", allowed_hosts, _HOST),
            None
            if allowed_origins is None
            else AllowList.read("allowed_origins", allowed_origins, _ORIGIN),
        )

    def check(self, scope: Scope, fields: Fields) -> None:
        """See that the request is meant for this server and comes from no foreign page.

        Raises:
            Refused: 403 that names the setting. 421 would say more about a wrong ``Host``,
                but invites a client to try again on another connection.
        """
        server = scope.get("server")
        local = server is not None and is_loopback(server[0])
        if not self._admits_host(fields.get(b"host"), local=local):
            raise _refused("Host", "allowed_hosts")
        if not self._admits_origin(fields.get(b"origin"), local=local):
            raise _refused("Origin", "allowed_origins")

    def _admits_host(self, host: bytes | None, *, local: bool) -> bool:
        if self.hosts is not None:
            return host is not None and self.hosts.admits(host)
        return not local or (host is not None and _is_local_host(host))

    def _admits_origin(self, origin: bytes | None, *, local: bool) -> bool:
        if origin is None:
            return True
        if self.origins is not None:
            return self.origins.admits(origin)
        return local and _is_local_origin(origin)


def _refused(header: str, setting: str) -> Refused:
    return Refused(
        403,
        f"This {header} is not allowed here; whoever runs the server can allow it"
        f" with http_app(..., {setting}=[...])",
    )


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Whether a name or address means this very machine."""
    if host == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


@lru_cache(maxsize=64)
def _is_local_host(value: bytes) -> bool:
    match = _HOST.fullmatch(value.decode("latin-1").lower())
    return match is not None and is_loopback(match["host"].strip("[]"))


@lru_cache(maxsize=64)
def _is_local_origin(value: bytes) -> bool:
    match = _ORIGIN.fullmatch(value.decode("latin-1").lower())
    return (
        match is not None
        and match["scheme"] in ("http", "https")
        and is_loopback(match["host"].strip("[]"))
    )
