"""The address of a link that a server wants opened, read as a browser reads it, with warnings.

The address comes from the other side, to be shown to a person who then decides. It is put into
one form that cannot be misread, and what makes addresses deceptive is named. Nothing is looked
up. Specification: client/elicitation, "Safe URL Handling"; WHATWG URL.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, Literal, TypeAlias
from urllib.parse import SplitResult, quote, urlsplit

import idna
from attrs import frozen

from .asked_parts import Malformed

WarningKind: TypeAlias = Literal[
    "not-https", "credentials", "internationalized", "mixed-script", "ip-address", "local", "port"
]

_LONGEST: Final = 8192
"""Characters that a person might still look at, and that servers take."""

_PORTS: Final = {"http": 80, "https": 443}
_LOCAL: Final = (".localhost", ".local", ".internal", ".home.arpa")
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")
_BRACKETED: Final = re.compile(r"\[[^]]*:[^]]*\](?::\d*)?", re.ASCII)
_ASCII: Final = "".join(map(chr, range(0x21, 0x7F)))


@frozen
class LinkWarning:
    """Something about an address that a person should know before it is opened.

    Attributes:
        kind: for programs.
        text: a sentence for the person, of visible ASCII but for the letters of a host's name.
    """

    kind: WarningKind
    text: str


@frozen
class Link:
    """An address, read.

    Attributes:
        host: where it leads, in ASCII: the form that cannot be misread.
        before, after: what is displayed around the host, in ASCII.
        warnings: what is unusual about it.
    """

    host: str
    before: str
    after: str
    warnings: tuple[LinkWarning, ...]


def read_link(url: str) -> Link:
    """Read an address.

    Raises:
        Malformed: it is no absolute http or https address that all readers read alike.
    """
    if len(url) > _LONGEST:
        raise Malformed(f'"url" has more than {_LONGEST} characters')
    if not _is_plain(url):
        raise Malformed('"url" is no address')
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise Malformed('"url" is no address') from None
    # A program may hand the address to a browser: what runs or reads locally has no place here.
    if parts.scheme not in _PORTS or not parts.hostname:
        raise Malformed('"url" is no absolute http or https address')
    _check_brackets(parts)
    host = _host(parts.hostname)
    before, after = _around(url, parts)
    warnings = _warnings(parts, host, port)
    return Link(_shown(host), before, after, tuple(warnings))


def _is_plain(url: str) -> bool:
    """Whether every reader finds the same in it: nothing blank, nothing invisible, no backslash.

    Browsers take a backslash for a slash, so that another host ends before it (WHATWG URL,
    "special authority"); directional marks let a person read another address than is opened.
    """
    return url.isprintable() and not set(url) & {" ", "\\"}


# -- the host ---------------------------------------------------------------------------------


def _host(name: str) -> str:
    """The name of a host in ASCII, or an IP address.

    Raises:
        Malformed: browsers would go elsewhere than the name says, or nowhere.
    """
    if "%" in name:
        raise _unplain()
    if ":" in name:
        return str(_address(name))
    ascii = name if name.isascii() else _encoded(name)
    labels = ascii.removesuffix(".").split(".")
    # Browsers decode a host, and take 0x7f.1 or 2130706433 for an address.
    if not all(labels) or not set(ascii) <= _PLAIN:
        raise _unplain()
    if labels[-1].isdecimal() or labels[-1].startswith("0x"):
        return str(_address(ascii))
    return ascii


def _check_brackets(parts: SplitResult) -> None:
    # Python leaves out what stands around them, and takes names in them: browsers go nowhere.
    place = parts.netloc.rpartition("@")[2]
    if "[" in place and not _BRACKETED.fullmatch(place):
        raise _unplain()


def _address(name: str) -> IPv4Address | IPv6Address:
    try:
        return ip_address(name.removesuffix("."))
    except ValueError:
        raise _unplain() from None


def _encoded(name: str) -> str:
    try:
        return idna.encode(name, uts46=True, transitional=False).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError):
        raise _unplain() from None


def _unplain() -> Malformed:
    return Malformed('"url" has a host that is not written plainly')


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


# -- what is displayed ------------------------------------------------------------------------


def _around(url: str, parts: SplitResult) -> tuple[str, str]:
    """What stands before and after the host, all else than ASCII encoded as browsers send it."""
    user, at, place = parts.netloc.rpartition("@")
    end = place.rfind("]") + 1 or len(place.partition(":")[0])
    rest = url[url.index("//") + 2 + len(parts.netloc) :]
    return f"{parts.scheme}://{_ascii(user)}{at}", _ascii(place[end:] + rest)


def _ascii(text: str) -> str:
    return quote(text, safe=_ASCII)


# -- warnings ---------------------------------------------------------------------------------


def _warnings(parts: SplitResult, host: str, port: int | None) -> Iterator[LinkWarning]:
    shown = _shown(host)
    if parts.scheme != "https":
        yield LinkWarning(
            "not-https", "The connection is not encrypted: others can read and change what is sent."
        )
    if "@" in parts.netloc:
        yield LinkWarning(
            "credentials",
            f"What stands before the @ is a user name, not where it leads; it leads to {shown}.",
        )
    yield from _of_letters(parts.hostname or "", host)
    yield from _of_place(host)
    if port is not None and port != _PORTS[parts.scheme]:
        yield LinkWarning("port", f"It leads to an unusual port, {port}.")


def _of_letters(name: str, host: str) -> Iterator[LinkWarning]:
    labels = [_decoded(label) for label in host.split(".")]
    foreign = [label for label in labels if not label.isascii()]
    if foreign or "xn--" in host or not name.isascii():
        spelled = ".".join(labels) if name.isascii() else name
        yield LinkWarning(
            "internationalized",
            f"The host {host} can be displayed as {spelled}, which may look like another.",
        )
    if any(len(_scripts(label)) > 1 for label in foreign):
        yield LinkWarning(
            "mixed-script", "A part of its host mixes letters of different alphabets."
        )


def _decoded(label: str) -> str:
    try:
        return idna.decode(label)
    except (idna.IDNAError, UnicodeError):
        return label


_TOGETHER: Final = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"})


def _scripts(label: str) -> set[str]:
    """The alphabets of the letters, by their names; those that are written together are one."""
    names = {unicodedata.name(char, "?").split()[0] for char in label if char.isalpha()}
    return {"CJK" if name in _TOGETHER else name for name in names}


def _of_place(host: str) -> Iterator[LinkWarning]:
    try:
        address = ip_address(host)
    except ValueError:
        name = host.removesuffix(".")
        if name == "localhost" or name.endswith(_LOCAL) or "." not in name:
            yield _local()
        return
    yield LinkWarning("ip-address", f"It leads to the bare address {host}, not to a named host.")
    if not address.is_global:
        yield _local()


def _local() -> LinkWarning:
    return LinkWarning("local", "It leads to this computer or into the local network.")
