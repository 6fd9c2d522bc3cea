"""The headers that repeat arguments of a tool: ``Mcp-Param-*``.

A client makes them from the arguments, a server holds them against those, and both know from the
tool's input schema which ones there are (:mod:`antiphon.engine.mirrored`). Specification:
basic/transports/streamable-http, "Custom Headers from Tool Parameters".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Protocol, cast

from ..engine.errors import UsageError
from ..engine.exchange import RequestHandler
from ..engine.jsonrpc import JsonObject, JsonValue, Request, dumps
from ..engine.mirrored import SAFE, Mirrored, is_whole
from ..engine.protocol import SUPPORTED_VERSIONS
from .headers import Fields, body_version, differing, encode_value, field_value, mismatch

# As JSON writes it, and with no fraction but zeros. A safe integer has at most 16 digits.
_WHOLE: Final = re.compile(r"(-?(?:0|[1-9][0-9]{0,15}))(?:\.0+)?")


class Mirroring(Protocol):
    """A request handler whose tools may have parameters that headers repeat."""

    def mirrored(self, name: str) -> tuple[Mirrored, ...]:
        """Those of the tool called ``name``; none where there is no such tool."""
        ...


def mirrored_by(server: RequestHandler, request: Request) -> tuple[Mirrored, ...]:
    """The parameters that headers have to repeat in a request to ``server``.

    There are none where the server is not :class:`Mirroring`, as a request handler need not be.
    """
    name = request.params.get("name")
    if request.method != "tools/call" or not isinstance(name, str):
        return ()
    # Looked up by hand: to ask whether it is an instance of a protocol takes 20 µs.
    if getattr(server, "mirrored", None) is None:
        return ()
    return cast(Mirroring, server).mirrored(name)


# -- the client's end -------------------------------------------------------------------------


def mirrored_headers(arguments: JsonObject, mirrored: Iterable[Mirrored]) -> dict[str, str]:
    """The ``Mcp-Param-*`` headers of a call of a tool with these arguments.

    An argument that is absent or null has none; nor has one of another type than the schema's,
    which the server refuses in words that a model can act on.

    Raises:
        UsageError: an integer is not safe to send, or a text holds a lone surrogate.
    """
    headers: dict[str, str] = {}
    for parameter in mirrored:
        value = parameter.value(arguments)
        if parameter.fits(value):
            headers[parameter.header] = encode_value(_text(parameter, value))
    return headers


def _text(parameter: Mirrored, value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    if not is_whole(value):
        return dumps(value).decode()
    if not _is_safe(value):
        place = ".".join(parameter.path)
        raise UsageError(f"Argument {place!r} is sent in a header, which takes at most ±{SAFE}")
    return str(int(value))


# -- the server's end -------------------------------------------------------------------------


def check_mirrored(fields: Fields, request: Request, mirrored: Iterable[Mirrored]) -> None:
    """Hold the ``Mcp-Param-*`` headers of a ``tools/call`` against its arguments.

    Texts are compared exactly, integers as numbers. Headers of that kind which mirror nothing
    are ignored. Left to the server, which refuses them with an error that says more, are
    arguments that are no object, an argument of another type than the schema's that comes
    without its header, and a body whose revision is not served.

    Raises:
        ProtocolError: -32020 that names the header: it is missing, repeated, malformed, differs
            from the argument, or there is no such argument.
    """
    arguments = request.params.get("arguments")
    if body_version(request) not in SUPPORTED_VERSIONS:
        return
    given = {} if arguments is None else arguments
    if isinstance(given, dict):
        for parameter in mirrored:
            _check(fields, request, parameter, parameter.value(given))


def _check(fields: Fields, request: Request, parameter: Mirrored, value: JsonValue) -> None:
    header = parameter.header
    try:
        said = field_value(fields, header, encoded=True)
    except ValueError as error:
        raise mismatch(request, f"{header} {error}") from None
    if parameter.fits(value) and is_whole(value) and not _is_safe(value):
        raise mismatch(request, f"{header} cannot mirror a body value beyond {SAFE}")
    if said is None:
        if parameter.fits(value):
            raise mismatch(request, f"{header} header is missing")
    elif value is None:
        raise mismatch(request, f"{header} header came, and the body has no value for it")
    elif not _says(said, value):
        raise differing(request, header, said, _spoken(value))


def _says(said: str, value: JsonValue) -> bool:
    if isinstance(value, str):
        return said == value
    if is_whole(value):
        number = _WHOLE.fullmatch(said)
        return number is not None and int(number[1]) == value
    return said == _spoken(value)


def _spoken(value: JsonValue) -> str:
    return value if isinstance(value, str) else dumps(value).decode()


def _is_safe(value: float) -> bool:
    return -SAFE <= value <= SAFE
