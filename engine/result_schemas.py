"""Results of tools, held against the ``outputSchema`` that their server has announced.

The schema comes from the other side and is hostile: its size, its nesting and the steps of each
check are bounded, its patterns run in linear time, and it reaches no network. Draft 2020-12 is
the default; ``$schema`` may name 2019-09, draft-07, draft-06 or draft-04. Specification:
server/tools, "Output Schema"; basic/index, "JSON Schema Usage".
"""

from __future__ import annotations

from typing import Final

import jsonschema_rs
from attrs import define, field

from .call_errors import quoted
from .errors import printable
from .jsonrpc import JsonObject, JsonValue
from .linear_patterns import LINEAR, MOST_CHARACTERS, pattern_characters
from .schema_cost import Cost
from .schema_parts import Unusable

_DIALECTS: Final = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-04/schema",
)

_MOST_STEPS: Final = 300_000_000
"""Steps of one check: a second or two."""

_EXPLAINED: Final = 1_000_000
"""Steps up to which a fault is looked for a second time, to say what it is."""

_CHARACTERS: Final = 300


@define(eq=False)
class ResultSchema:
    """A schema, compiled.

    Raises:
        Unusable: nothing can be held against it.
    """

    schema: JsonObject = field(repr=False)
    _cost: Cost = field(init=False, repr=False)
    _validator: jsonschema_rs.Validator = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        _check_dialect(self.schema)
        if pattern_characters(self.schema) > MOST_CHARACTERS:
            raise Unusable(f"its patterns have more than {MOST_CHARACTERS} characters")
        self._cost = Cost(self.schema)
        self._validator = _compiled(self.schema)

    def fault(self, value: JsonValue) -> str | None:
        """What is wrong with a value, in a phrase that repeats none; None where nothing is.

        Raises:
            Unusable: that would take too long.
        """
        steps = self._cost.of(value)
        if steps > _MOST_STEPS:
            raise Unusable("its parts apply each other too often to be held against this result")
        if self._validator.is_valid(value):
            return None
        return self._told(value) if steps <= _EXPLAINED else "it does not match"

    def _told(self, value: JsonValue) -> str:
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            place = ".".join(str(part) for part in error.instance_path)
            told = printable(error.message[:_CHARACTERS])
            return f"at {quoted(place)}, {told}" if place else told
        return "it does not match"


def _check_dialect(schema: JsonObject) -> None:
    dialect = schema.get("$schema", _DIALECTS[0])
    if not isinstance(dialect, str) or dialect.removesuffix("#") not in _DIALECTS:
        raise Unusable(f"its dialect {quoted(dialect)} is not supported (2020-12 is, for one)")


def _compiled(schema: JsonObject) -> jsonschema_rs.Validator:
    try:
        return jsonschema_rs.validator_for(
            schema,
            offline=True,
            validate_formats=False,
            mask="the value",
            pattern_options=LINEAR,
        )
    except (ValueError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
        raise Unusable(_why(error)) from None


def _why(error: Exception) -> str:
    if not isinstance(error, jsonschema_rs.ValidationError):
        return f"it is no valid schema: {printable(str(error)[:_CHARACTERS])}"
    if 'is not a "regex"' in error.message:
        return "one of its patterns is wrong, too large, or looks around or back"
    return f"it is no valid schema: {printable(error.message[:_CHARACTERS])}"
