"""A page that a server asks a person to open: shown whole, and never opened unasked.

Specification: client/elicitation, "Safe URL Handling".
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final, Protocol
from urllib.parse import quote, urlsplit

from ..engine.asked import Accept, Cancel, Decline, ElicitationAnswer, UrlRequest
from .cli_forms import KEYS, Declined, Dismissed, Prompts, Sheet, title

_NO: Final = "No, decline"
_YES: Final = "Yes"
_CANCEL: Final = "Cancel"
_ANSWERS: Final[dict[str, ElicitationAnswer]] = {
    _YES: Accept(),
    _NO: Decline(),
    _CANCEL: Cancel(),
}


class LinkSheet(Sheet, Protocol):
    """A sheet that shows an address with its host in bold."""

    def address(self, before: str, host: str, after: str) -> None:
        """The address in three parts."""
        ...


async def ask_consent(request: UrlRequest, prompts: Prompts, sheet: LinkSheet) -> ElicitationAnswer:
    """Show where the address leads, and ask whether the person agrees to go there."""
    sheet.heading(title(request), request.message)
    sheet.note("It asks you to open this page:")
    sheet.address(*around_host(request))
    for doubt in doubts(request):
        sheet.note(f"Careful: {doubt}")
    sheet.note(KEYS)
    options = [_NO, _YES, _CANCEL]
    try:
        # The pointer begins at the harmless answer.
        picked = options[await prompts.choose(f"Agree to go to {_host(request)}?", options, 0)]
    except Declined:
        picked = _NO
    except Dismissed:
        picked = _CANCEL
    return _ANSWERS[picked]


def address(url: str) -> str:
    """The address in ASCII alone, which is also what a browser sends."""
    return "".join(c if "!" <= c <= "~" else quote(c) for c in url)


def around_host(request: UrlRequest) -> tuple[str, str, str]:
    """The address as it is shown: what stands before the host, the host, the rest."""
    whole, host = address(request.url), _host(request)
    authority = urlsplit(whole).netloc
    at = whole.index(authority) + authority.rfind("@") + 1
    start = whole.lower().find(host, at)
    if start < 0:
        return whole, "", ""
    return whole[:start], whole[start : start + len(host)], whole[start + len(host) :]


def _host(request: UrlRequest) -> str:
    return urlsplit(address(request.url)).hostname or ""


def doubts(request: UrlRequest) -> Iterator[str]:
    """What should make a person look twice."""
    host = request.host
    if not host.isascii() or any(label.startswith("xn--") for label in host.split(".")):
        yield "the host has letters that can look like others."
    if "@" in urlsplit(request.url).netloc:
        yield "what stands before the @ is not the host."
    if _is_address(host) and not _is_local(host):
        yield "the host is a bare number, not a name."
    if urlsplit(request.url).scheme == "http" and not _is_local(host):
        yield "the connection to it is not encrypted."


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _is_local(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ip_address(host).is_loopback)
