"""The parts of a URI template, and whether its URIs can be read back in one way only.

RFC 6570 for templates, RFC 3986 for URIs. :mod:`~.uri_templates` says what is supported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import quote

from attrs import define, field, frozen

from .errors import DefinitionError

UNRESERVED: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
RESERVED: Final = ":/?#[]@!$&'()*+,;="
MARKS: Final = "!'()*:@"
"""What ``encodeURIComponent`` leaves as it is, and what has no meaning within a segment."""

_ANY: Final = re.escape(UNRESERVED + RESERVED)
_PLAIN: Final = re.compile(f"[{_ANY}]*")
_TO_SPELL: Final = re.compile(f"%([0-9A-Fa-f]{{2}})|%|[^%{_ANY}]+")
_UNSPEAKABLE: Final = re.compile(r"[\x00-\x1f%\x7f]")

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_EXPRESSION: Final = re.compile(r"(\{[^{}]*\})")
_NAME: Final = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*")
_MODIFIED: Final = re.compile(r"[A-Za-z0-9_.]+(\*|:[0-9]+)")

_JOINED: Final = {"": ",", "+": ",", "#": ",", ".": ".", "/": "/", ";": ";"}
"""What stands between the variables of one expression, by operator."""


def normal(uri: str) -> str | None:
    """The one spelling of all equivalent URIs, or None for what is no URI.

    Unreserved characters are plain, hexadecimal digits upper case, and what no URI may hold is
    encoded, but for control characters.
    """
    if _PLAIN.fullmatch(uri):
        return uri
    try:
        return _TO_SPELL.sub(_spelled, uri)
    except ValueError:
        return None


def is_uri(text: str) -> bool:
    """Whether it is an absolute URI, apart from characters that can be encoded."""
    return _SCHEME.match(text) is not None and normal(text) is not None


def _spelled(found: re.Match[str]) -> str:
    if digits := found[1]:
        char = chr(int(digits, 16))
        return char if char in UNRESERVED else found[0].upper()
    if _UNSPEAKABLE.search(found[0]):
        raise ValueError("neither a URI nor text that can be made one")
    return quote(found[0])


@frozen
class Variable:
    """A variable before the query.

    Attributes:
        plain: the characters of a value that are not encoded.
        marks: those that expansion encodes and a client may leave plain all the same.
    """

    name: str
    plain: str
    marks: str = ""

    @property
    def reserved(self) -> bool:
        """Whether reserved characters are left as they are."""
        return "/" in self.plain

    @property
    def pattern(self) -> str:
        """A character class of all that a value is written with, in a normal URI."""
        return f"[{re.escape(self.plain + self.marks)}%]"

    def may_hold(self, text: str) -> bool:
        """Whether all of ``text`` could be part of a value."""
        return re.fullmatch(f"{self.pattern}*", text) is not None


@frozen
class Syntax:
    """A template, taken apart.

    Attributes:
        text: the template with its literals normal.
        literals: what stands around the variables: one more than these.
        variables: those before the query, each of them needed.
        opening: what the query begins with, ``?`` or ``&``; empty where there is none.
        query: the names of the query's variables, none of them needed.
    """

    text: str
    literals: Sequence[str]
    variables: Sequence[Variable]
    opening: str
    query: Sequence[str]


@define
class _Parser:
    """Collects the parts, and all that is wrong with them."""

    faults: list[str] = field(factory=list[str])
    text: str = ""
    literals: list[str] = field(factory=lambda: [""])
    variables: list[tuple[str, str]] = field(factory=list[tuple[str, str]])
    opening: str = ""
    query: list[str] = field(factory=list[str])

    def literal(self, text: str) -> None:
        spelled = normal(text)
        if "{" in text or "}" in text:
            self.faults.append("a brace has no partner")
        elif spelled is None:
            self.faults.append(f"{text!r} is nothing that a URI can hold")
        else:
            self._stands(spelled)
            self.text += spelled

    def expression(self, text: str) -> None:
        body = text[1:-1]
        operator = body[:1] if body[:1] in (*_JOINED, "?", "&", *"=,!@|") else ""
        if operator and operator in "=,!@|":
            self.faults.append(f"{text} has the operator {operator!r}, which means nothing yet")
            return
        names = body[len(operator) :].split(",")
        wrong = [fault for name in names if (fault := _name_fault(name, text))]
        if wrong:
            self.faults += wrong
        elif operator in ("?", "&"):
            self._query(text, operator, names)
        else:
            self._variables(operator, names)
        self.text += text

    def _stands(self, literal: str) -> None:
        if self.opening and literal:
            self.faults.append(f"{literal!r} stands after the query, which must be the end")
        self.literals[-1] += literal

    def _variables(self, operator: str, names: list[str]) -> None:
        for index, name in enumerate(names):
            before = _JOINED[operator] if index else operator.strip("+")
            self._stands(before + (f"{name}=" if operator == ";" else ""))
            if self.opening:
                self.faults.append(f"{{{name}}} stands after the query, which must be the end")
            self.variables.append((operator, name))
            self.literals.append("")

    def _query(self, text: str, operator: str, names: list[str]) -> None:
        begun = "?" in "".join(self.literals)
        if self.opening:
            self.faults.append(f"{text} is a second query; name all its variables in one")
        elif operator == "?" and begun:
            self.faults.append(f"{text} begins a query that has begun; write {{&{text[2:]}")
        elif operator == "&" and not begun:
            self.faults.append(
                f"{text} goes on with a query that has not begun; write {{?{text[2:]}"
            )
        self.opening = operator
        self.query += names


def _name_fault(name: str, text: str) -> str | None:
    if _NAME.fullmatch(name):
        return None
    if modified := _MODIFIED.fullmatch(name):
        return f"{text} cannot be matched back with {modified[1]!r}; leave that out"
    return f"{text}: {name!r} is no name of a variable"


def parse_syntax(text: str) -> Syntax:
    """Take a template apart.

    Raises:
        DefinitionError: all that is wrong with it.
    """
    parser = _Parser()
    if not _SCHEME.match(text):
        parser.faults.append("it does not begin with a scheme, such as notes:// or file://")
    for index, part in enumerate(_EXPRESSION.split(text)):
        parser.expression(part) if index % 2 else parser.literal(part)
    variables = _with_characters(parser)
    names = [*(variable.name for variable in variables), *parser.query]
    parser.faults += _repeated(names)
    if not parser.faults:
        parser.faults += _doubts(parser.literals, variables) if names else [_NO_VARIABLE]
    if parser.faults:
        raise DefinitionError(f"URI template {text!r}", parser.faults)
    return Syntax(parser.text, parser.literals, variables, parser.opening, parser.query)


_NO_VARIABLE: Final = "it has no variable; what has one uri is a resource, and no template"


def _repeated(names: Sequence[str]) -> list[str]:
    counted = {name: names.count(name) for name in names}
    return [f"{name!r} stands in it {many} times" for name, many in counted.items() if many > 1]


def _with_characters(parser: _Parser) -> list[Variable]:
    """The variables, with what may stand in the value of each.

    What divides the template is no part of a value: neither a mark that a literal has, nor a
    ``?`` in a path that a query follows.
    """
    dividers = _SCHEME.sub("", "".join(parser.literals), count=1)
    marks = "".join(mark for mark in MARKS if mark not in dividers)
    variables: list[Variable] = []
    for index, (operator, name) in enumerate(parser.variables, start=1):
        if operator in ("+", "#"):
            after = "".join(parser.literals[index:]) + parser.opening
            ends = {end for end in "?#" if end in after} | {parser.opening}
            plain = "".join(char for char in UNRESERVED + RESERVED if char not in ends)
            variables.append(Variable(name, plain))
        else:
            plain = UNRESERVED.replace(".", "") if operator == "." else UNRESERVED
            variables.append(Variable(name, plain, marks))
    return variables


def _doubts(literals: Sequence[str], variables: Sequence[Variable]) -> Iterator[str]:
    """The variables that a URI does not tell apart.

    A value ends where a character comes that it cannot hold, or begins after one, read from the
    end. So one variable alone may be bounded by its neighbours.
    """
    bounded: Variable | None = None
    for before, variable, after in zip(literals, variables, literals[1:], strict=False):
        if bounded is not None and variable.may_hold(before):
            yield (
                f"{{{variable.name}}} cannot be told from {{{bounded.name}}}: put something "
                "between them that no value of theirs can hold, such as / between {a} and {b}"
            )
        elif bounded is None and variable.may_hold(after):
            bounded = variable
