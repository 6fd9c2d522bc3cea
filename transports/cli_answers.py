"""Answers that stand on the command line, for scripts: ``--answer key=value``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..engine.asked import Accept, Cancel, Decline, ElicitationAnswer, FormRequest
from ..engine.asked_form import Field
from .cli_fields import Given, from_pairs, options_of
from .cli_values import Pair, Unfit

_ACTIONS: Final[dict[str, ElicitationAnswer]] = {
    "accept": Accept(),
    "decline": Decline(),
    "cancel": Cancel(),
}


class Answers:
    """What ``--answer`` gave, and which of it was asked for.

    A key names a field, a field of one question as ``question.field``, or a whole question,
    which is then answered by ``accept``, ``decline`` or ``cancel``.
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self._pairs = list(pairs)
        self._used: set[str] = set()

    @property
    def unused(self) -> list[str]:
        """The keys that nobody asked for, so far."""
        return [key for key in dict.fromkeys(p.key for p in self._pairs) if key not in self._used]

    def action(self, question: str) -> ElicitationAnswer | None:
        """What was said of a question as a whole; None where nothing was.

        Raises:
            Unfit: it is no action.
        """
        pairs = self._named(question)
        if not pairs:
            return None
        if len(pairs) > 1 or pairs[0].value not in _ACTIONS:
            raise Unfit(f"--answer {question}=… is one of {', '.join(_ACTIONS)}")
        return _ACTIONS[pairs[0].value]

    def fields(self, request: FormRequest) -> dict[str, Given]:
        """What was said of the fields of a form.

        Raises:
            Unfit: a field does not take it.
        """
        found = {field.name: self._of(request, field) for field in request.fields}
        return {name: given for name, given in found.items() if given is not None}

    def _of(self, request: FormRequest, field: Field) -> Given | None:
        pairs = self._named(f"{request.key}.{field.name}") or self._named(field.name)
        if not pairs:
            return None
        try:
            return from_pairs(request.form, field, pairs)
        except Unfit as error:
            options = f": {options_of(field)}" if field.choices else ""
            raise Unfit(f"--answer {pairs[0].key}=… does not fit. {error}{options}") from None

    def _named(self, key: str) -> list[Pair]:
        pairs = [pair for pair in self._pairs if pair.key == key]
        if pairs:
            self._used.add(key)
        return pairs
