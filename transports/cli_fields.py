"""The fields of a form as a person meets them: what each wants, and what a typed text means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import field as attribute
from attrs import frozen

from ..engine.asked_form import AskedForm, Choice, Field, Scalar
from ..engine.jsonrpc import JsonValue
from .cli_text import one_line
from .cli_values import Pair, Unfit, read_json, typed

_FORMATS: Final = {
    "email": "an e-mail address",
    "uri": "a URI, such as https://example.org/a",
    "date": "a date, such as 2026-07-28",
    "date-time": "a date and time with its zone, such as 2026-07-28T09:30:00Z",
}
_NOUNS: Final = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "yes or no",
    "array": "several texts",
}
_SAID: Final = (
    *("'type'", "'enum'", "'format'", "'pattern'", "'minimum'", "'maximum'"),
    *("'minLength'", "'maxLength'", "'minItems'", "'maxItems'"),
)
"""How a fault ends that :func:`wanted` explains better."""

_MOST_OPTIONS: Final = 12
_WORDS: Final = {"yes": True, "no": False, "y": True, "n": False}


@frozen
class Given:
    """A value for a field; a field without one is left out of the answer."""

    value: JsonValue = attribute(repr=False)


def wanted(field: Field) -> str:
    """What the field takes, in a few words: ``a whole number, 1 to 10``."""
    if field.type == "array":
        several = "any of the choices" if field.choices else "several texts"
        return _with(several, _range(field.min_items, field.max_items))
    if field.choices:
        return "one of the choices"
    noun = _FORMATS.get(field.format or "", _NOUNS[field.type])
    if field.type != "string":
        return _with(noun, _range(field.minimum, field.maximum))
    length = _range(field.min_length, field.max_length)
    pattern = f" that matches {one_line(field.pattern)}" if field.pattern else ""
    return f"{noun}{f' of {length} characters' if length else ''}{pattern}"


def options_of(field: Field) -> str:
    """The values of its choices, as they stand on a command line; empty where it has none."""
    values = [shown(choice.value) for choice in field.choices[:_MOST_OPTIONS]]
    return "|".join([*values, *(["…"] if len(field.choices) > _MOST_OPTIONS else [])])


def _with(noun: str, numbers: str) -> str:
    return f"{noun}, {numbers}" if numbers else noun


def _range(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"{low:.15g} to {high:.15g}" if low != high else f"{low:.15g}"
    if low is not None:
        return f"at least {low:.15g}"
    return f"at most {high:.15g}" if high is not None else ""


def fault(form: AskedForm, field: Field, value: JsonValue) -> str | None:
    """Why the form's schema refuses this value; None where it takes it."""
    unfilled = form.faults({})
    faults = [told for told in form.faults({field.name: value}) if told not in unfilled]
    if not faults:
        return None
    unsaid = one_line("; ".join(told for told in faults if not told.endswith(_SAID)))
    return f"Wanted: {wanted(field)}{f' ({unsaid})' if unsaid else ''}"


def checked(form: AskedForm, field: Field, value: JsonValue) -> Given:
    """The value, which the form's schema takes.

    Raises:
        Unfit: it does not; the message says what is wanted.
    """
    if told := fault(form, field, value):
        raise Unfit(told)
    return Given(value)


# -- texts ------------------------------------------------------------------------------------


def from_text(form: AskedForm, field: Field, text: str) -> Given | None:
    """What a person typed as a value of the field; None leaves the field out.

    Nothing typed is an empty text only where the field came with a text to clear; see
    :func:`prefill`.

    Raises:
        Unfit: it is no such value.
    """
    if text:
        return checked(form, field, _meant(field, text))
    if field.type == "string" and field.default is not None and prefill(field, field.default):
        return checked(form, field, "")
    if field.default is not None and not prefill(field, field.default):
        return None
    if field.nullable:
        return Given(None)
    if field.required or field.default is not None:
        raise Unfit(f"An answer is needed: {wanted(field)}")
    return None


def prefill(field: Field, value: JsonValue | tuple[Scalar, ...]) -> str:
    """The text that stands for a value in an input line; empty where no line can hold it."""
    if isinstance(value, tuple | list):
        text, value = ", ".join(map(str, value)), list(value)
    else:
        text = "" if value is None else str(value)
    # A default comes from the server: it is either typed in as it is, or not at all.
    try:
        same = one_line(text, len(text)) == text and _meant(field, text) == value
    except Unfit:
        same = False
    return text if same else ""


def _meant(field: Field, text: str) -> JsonValue:
    if field.type == "array":
        return _texts(text)
    if field.type == "boolean" and (word := text.strip().lower()) in _WORDS:
        return _WORDS[word]
    try:
        return typed(text, [field.type])
    except Unfit:
        raise Unfit(f"Wanted: {wanted(field)}") from None


def _texts(text: str) -> JsonValue:
    if text.lstrip().startswith("["):
        return read_json(text, "The list")
    return [part.strip() for part in text.split(",") if part.strip()]


# -- pairs ------------------------------------------------------------------------------------


def from_pairs(form: AskedForm, field: Field, pairs: list[Pair]) -> Given | None:
    """What ``--answer`` said of the field; only several choices take it several times.

    Raises:
        Unfit: it is no value of the field.
    """
    values = list(_values(field, pairs))
    if field.type != "array":
        if len(pairs) > 1:
            raise Unfit("It is answered more than once")
        return checked(form, field, values[0])
    whole = len(pairs) == 1 and isinstance(values[0], list)
    return checked(form, field, values[0] if whole else values)


def _values(field: Field, pairs: list[Pair]) -> Iterator[JsonValue]:
    for pair in pairs:
        if pair.json:
            yield read_json(pair.value, "It")
        elif (choice := _choice(field, pair.value)) is not None:
            yield choice.value
        elif field.nullable and pair.value == "null":
            yield None
        elif field.type == "array":
            yield _texts(pair.value) if len(pairs) == 1 else pair.value
        else:
            yield _meant(field, pair.value)


def _choice(field: Field, text: str) -> Choice | None:
    """The choice of this value, or the only one of this title."""
    named = [choice for choice in field.choices if shown(choice.value) == text]
    titled = [choice for choice in field.choices if choice.title == text]
    if named:
        return named[0]
    return titled[0] if len(titled) == 1 else None


def shown(value: JsonValue) -> str:
    """A value as a person reads it."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(shown(item) for item in value) or "none of them"
        case _:
            return one_line(str(value))
