"""URI templates in both directions: RFC 6570 expands them, and a URI is matched back.

Expansion is the ``uritemplate`` package's. For matching there is no standard; this is the rule:
a URI matches if it is what expansion makes of the values, or equivalent to that. Equivalent is
what RFC 3986 calls so in section 6.2.2.2 (``%7e`` and ``~``), and what careless clients leave
plain: spaces, what is not ASCII, and ``!'()*:@`` in a value where the template itself does not
use them. Scheme and host are compared as they are written.

=====================  ==================================================================
``{a}`` ``{a,b}``      text; a slash in it is encoded
``{+a}``               a path; its slashes are plain, and an encoded one is refused
``{/a}`` ``{;a}``      a segment, a path parameter
``{.a}``               a label, which holds no dot
``{#a}``               a fragment
``{?a,b}`` ``{&a,b}``  a query, at the end; each may be missing or empty, in any order
=====================  ==================================================================

Before the query each variable has a value that is not empty. ``{a*}`` and ``{a:3}`` cannot be
matched back and are refused, as is a template whose URIs could be read in two ways.

**A matched value is what a stranger wrote.** It is text without NUL, and no more: ``..`` matches
``{a}`` as well as ``{+a}``, and so does a slash that came as ``%2F``. Whoever makes the path of a
file of it checks where that path leads.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from attrs import field, frozen

from .errors import INVALID_PARAMS, ProtocolError, UsageError
from .jsonrpc import DEFAULT_LIMITS
from .limits import Limits, raising
from .uri_syntax import MARKS, UNRESERVED, Syntax, Variable, normal, parse_syntax

_MARK: Final = re.compile(f"[{re.escape(MARKS)}]")


def check_uri(uri: str, limits: Limits = DEFAULT_LIMITS) -> str:
    """The normal form of a uri; refuses what no resource can have.

    Raises:
        ProtocolError: -32602, it is too long, or has characters that no URI can be made of.
    """
    if len(uri) > limits.uri_bytes:
        raise ProtocolError(
            INVALID_PARAMS,
            f"The uri has {len(uri)} characters; limit uri_bytes is {limits.uri_bytes} "
            + raising("uri_bytes"),
        )
    if (spelled := normal(uri)) is None:
        raise ProtocolError(INVALID_PARAMS, "The uri is none: encode what stands in it")
    return spelled


@frozen
class UriTemplate:
    """A template whose URIs are matched and made.

    Attributes:
        text: the template as it was written.
    """

    text: str
    _syntax: Syntax = field(repr=False, eq=False)

    @classmethod
    def parse(cls, text: str) -> UriTemplate:
        """Read a template.

        Raises:
            DefinitionError: all that is malformed in it, or could not be matched back.
        """
        return cls(text, parse_syntax(text))

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """All names, in the order of the template."""
        return (*(variable.name for variable in self._syntax.variables), *self.optional)

    @property
    def optional(self) -> tuple[str, ...]:
        """The names that a URI may leave out: those of the query."""
        return tuple(self._syntax.query)

    def match(self, uri: str, limits: Limits = DEFAULT_LIMITS) -> dict[str, str] | None:
        """The values that expand to this URI, decoded; None where there are none.

        Takes time in proportion to the length, which a limit bounds. What is missing in the
        query is missing in the values.
        """
        spelled = normal(uri) if len(uri) <= limits.uri_bytes else None
        return None if spelled is None else self.match_normal(spelled)

    def match_normal(self, uri: str) -> dict[str, str] | None:
        """As :meth:`match`, of a uri that is in normal form and no longer than it may be.

        Who tries many templates makes that form once: see :func:`check_uri`.
        """
        if (found := self._pattern.fullmatch(uri)) is None:
            return None
        *written, query = found.groups()
        try:
            values = {
                variable.name: _decoded(part, variable)
                for variable, part in zip(self._syntax.variables, written, strict=True)
            }
            return values | self._asked(query)
        except ValueError:
            return None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        # Linear, as the syntax leaves one way to divide a URI: where a value could end too soon
        # or too late, the very next character fails.
        first, *others = map(re.escape, self._syntax.literals)
        pairs = zip(self._syntax.variables, others, strict=True)
        whole = first + "".join(f"({variable.pattern}+){after}" for variable, after in pairs)
        opening = re.escape(self._syntax.opening)
        return re.compile(whole + (f"(?:{opening}(.+))?" if opening else "()"))

    def _asked(self, query: str | None) -> dict[str, str]:
        """The values of a query; raises ValueError where it is not one of this template's."""
        pairs = query.split("&", maxsplit=len(self._syntax.query)) if query else []
        values: dict[str, str] = {}
        for pair in pairs:
            name, equals, value = pair.partition("=")
            if not equals or name in values or name not in self._syntax.query:
                raise ValueError("no query that expansion makes")
            values[name] = _decoded(value, Variable(name, UNRESERVED, MARKS))
        return values

    def expand(self, /, **values: str) -> str:
        """The URI of these values; of the query's some may be left out.

        Raises:
            UsageError: a variable is missing or unknown, or no URI could carry its value back.
        """
        if unknown := values.keys() - set(self.variables):
            raise UsageError(f"{self.text} has no variable {', '.join(sorted(unknown))}")
        for name, value in values.items():
            _check_text(name, value)
        carried = dict(values)
        for variable in self._syntax.variables:
            carried[variable.name] = _carried(values.get(variable.name, ""), variable)
        return self._expanded(carried)

    def _expanded(self, values: dict[str, str]) -> str:
        from uritemplate import URITemplate  # a server that only matches does without

        return URITemplate(self._syntax.text).expand({**values})


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise UsageError(f"The value of {name!r} is a {type(value).__name__}, not text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"The value of {name!r} has a lone surrogate") from None
    if "\0" in value:
        raise UsageError(f"The value of {name!r} holds NUL, which is never matched back")


def _carried(value: str, variable: Variable) -> str:
    """What expansion is given: what it would leave as it is, as a rule of its own says, is encoded.

    A ``%`` is one that the value has, so ``%2F`` is carried as ``%252F``.
    """
    encoded = quote(value, safe=variable.plain)
    if not value:
        raise UsageError(f"{variable.name!r} needs a value, and not an empty one")
    if not variable.may_hold(encoded):
        raise UsageError(f"The value of {variable.name!r} is a label, which holds no dot")
    return encoded if variable.reserved else value


def _decoded(written: str, variable: Variable) -> str:
    """The value; raises ValueError where expansion writes it otherwise, or it is no text."""
    value = unquote_to_bytes(written).decode("utf-8")
    if not variable.reserved:
        written = _MARK.sub(_percent, written)
    if "\0" in value or quote(value, safe=variable.plain) != written:
        raise ValueError("not what expansion writes")
    return value


def _percent(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02X}"
