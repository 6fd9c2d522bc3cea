"""The headers that mirror a request, so that others on the way need not read its body.

A client makes them from the request, a server holds them against it. Names are compared
without regard to case, values exactly. Specification: basic/transports/streamable-http,
"Request Metadata".
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import frozen

from ..engine.errors import HEADER_MISMATCH, ProtocolError, UsageError
from ..engine.jsonrpc import Request
from ..engine.protocol import META_VERSION, SUPPORTED_VERSIONS, TARGETS

VERSION_HEADER: Final = "MCP-Protocol-Version"
METHOD_HEADER: Final = "Mcp-Method"
NAME_HEADER: Final = "Mcp-Name"
SESSION_HEADER: Final = "Mcp-Session-Id"
"""Of earlier revisions alone; requests of this one may carry it, and nobody looks at it."""

_PREFIX: Final = "=?base64?"
_SUFFIX: Final = "?="
_PLAIN: Final = re.compile(r"(?:[!-~](?:[ -~]*[!-~])?)?")
_FIELD_VALUE: Final = re.compile(rb"[\t -~]*")
_SHOWN: Final = 100


# -- values -----------------------------------------------------------------------------------


def _is_sentinel(text: str) -> bool:
    return (
        len(text) >= len(_PREFIX) + len(_SUFFIX)
        and text.startswith(_PREFIX)
        and text.endswith(_SUFFIX)
    )


def encode_value(text: str) -> str:
    """The header value for any text: itself where that is safe, else ``=?base64?…?=``.

    Not safe are characters other than visible ASCII and inner spaces, and a text that would
    be taken for an encoded one.

    Raises:
        UsageError: the text holds a lone surrogate.
    """
    if _PLAIN.fullmatch(text) and not _is_sentinel(text):
        return text
    try:
        return f"{_PREFIX}{base64.b64encode(text.encode()).decode()}{_SUFFIX}"
    except UnicodeEncodeError:
        raise UsageError("A text with a lone surrogate cannot be sent in a header") from None


def decode_value(value: str) -> str:
    """The text of a header value; a value without the exact prefix and suffix is the text.

    Raises:
        ValueError: between prefix and suffix stands anything but the canonical base64 of
            UTF-8 text.
    """
    if not _is_sentinel(value):
        return value
    encoded = value[len(_PREFIX) : -len(_SUFFIX)]
    content = base64.b64decode(encoded, validate=True)
    if base64.b64encode(content).decode() != encoded:
        raise ValueError("the base64 is not canonical")
    return content.decode()


# -- the client's end -------------------------------------------------------------------------


def metadata_headers(request: Request) -> dict[str, str]:
    """The headers that a client sends with a request.

    Raises:
        UsageError: the tool's name, or what stands in its place, cannot be sent.
    """
    headers = {METHOD_HEADER: request.method}
    version = body_version(request)
    if version is not None:
        headers[VERSION_HEADER] = version
    name = _body_name(request)
    if name is not None:
        headers[NAME_HEADER] = encode_value(name)
    return headers


def body_version(request: Request) -> str | None:
    """The revision that a request names in its ``_meta``, if it names one there."""
    meta = request.params.get("_meta")
    version = meta.get(META_VERSION) if isinstance(meta, dict) else None
    return version if isinstance(version, str) else None


def _body_name(request: Request) -> str | None:
    """What ``Mcp-Name`` repeats: only the methods that may ask have it."""
    member = TARGETS.get(request.method)
    name = request.params.get(member) if member is not None else None
    return name if isinstance(name, str) else None


# -- the server's end -------------------------------------------------------------------------


@frozen
class Fields:
    """The fields of an HTTP head, by lower-case name.

    Attributes:
        values: the values; those of a name that came more than once are joined by a comma and
            a space (RFC 9110, 5.3).
        repeated: the names that came more than once.
    """

    values: Mapping[bytes, bytes]
    repeated: frozenset[bytes] = frozenset()

    @classmethod
    def read(cls, raw: Iterable[tuple[bytes, bytes]]) -> Fields:
        """Take the headers of an ASGI scope."""
        values: dict[bytes, bytes] = {}
        repeated: set[bytes] = set()
        for name, value in raw:
            key = name.lower()
            if key in values:
                repeated.add(key)
                values[key] += b", " + value
            else:
                values[key] = value
        return cls(values, frozenset(repeated))

    def get(self, name: bytes) -> bytes | None:
        """The value of a field, or None where it is absent."""
        return self.values.get(name)


def check_metadata(fields: Fields, request: Request) -> None:
    """Hold the headers of a request against its body.

    A body that names no revision, or one that is not served, is left to the server, which
    refuses it with an error that says more; so is a name that is missing from the body.

    Raises:
        ProtocolError: -32020 that names the header: it is missing, repeated, malformed, or
            differs from the body.
    """
    version = body_version(request)
    if version is None:
        return
    _check(fields, request, VERSION_HEADER, version)
    if version not in SUPPORTED_VERSIONS:
        return
    _check(fields, request, METHOD_HEADER, request.method)
    name = _body_name(request)
    if name is not None:
        _check(fields, request, NAME_HEADER, name)


def _check(fields: Fields, request: Request, header: str, expected: str) -> None:
    try:
        value = field_value(fields, header, encoded=header == NAME_HEADER)
    except ValueError as error:
        raise mismatch(request, f"{header} {error}") from None
    if value is None:
        raise mismatch(request, f"{header} header is missing")
    if value != expected:
        raise differing(request, header, value, expected)


def field_value(fields: Fields, header: str, *, encoded: bool) -> str | None:
    """The value of a header, without the space around it; None where it is absent.

    Args:
        fields: the head.
        header: the header's name, in any case.
        encoded: whether the value may have the base64 form, which is taken off.

    Raises:
        ValueError: the header is repeated or malformed; the message goes on after its name.
    """
    key = header.lower().encode()
    raw = fields.get(key)
    if raw is None:
        return None
    if key in fields.repeated:
        raise ValueError("header came more than once")
    trimmed = raw.strip(b" \t")
    if not _FIELD_VALUE.fullmatch(trimmed):
        raise ValueError("header holds other characters than visible ASCII, space and tab")
    value = trimmed.decode("ascii")
    try:
        return decode_value(value) if encoded else value
    except ValueError:
        raise ValueError("header is not the base64 form of UTF-8 text") from None


def differing(request: Request, header: str, value: str, expected: str) -> ProtocolError:
    """The error for a header that says something else than the body."""
    what = f"header value {_shown(value)} does not match body value {_shown(expected)}"
    return mismatch(request, f"{header} {what}")


def mismatch(request: Request, what: str) -> ProtocolError:
    """The error for a header that does not go with the body: ``what`` begins with its name."""
    return ProtocolError(HEADER_MISMATCH, f"Header mismatch: {what}", id=request.id)


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
