"""Answers that a call brings along, to questions that it would be asked.

The author of a tool opts in: its questions become optional arguments, so that a model can answer
where nobody can be asked. They enter by the same door as every answer. Specification: none; the
arguments are a tool's own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from attrs import define, field

from .jsonrpc import JsonObject


@define
class Preanswers:
    """The answers that one call brings along.

    Attributes:
        names: the arguments that answer questions.
        given: those that the call has, as a client would respond.
        spent: those that answered a question in this round or an earlier one. A question that
            is asked again is for a person.
    """

    names: Collection[str] = ()
    given: Mapping[str, JsonObject] = field(factory=dict[str, JsonObject], repr=False)
    spent: set[str] = field(factory=set[str])

    def take(self, keys: Mapping[str, str]) -> dict[str, JsonObject]:
        """The responses to questions, by key, each of them once.

        Args:
            keys: the name of the argument for each question's key.
        """
        ready = {k: n for k, n in keys.items() if n in self.given and n not in self.spent}
        self.spent.update(ready.values())
        return {key: self.given[name] for key, name in ready.items()}

    def open(self, names: Iterable[str]) -> list[str]:
        """Of these arguments those that would answer a question, if the call had them."""
        return [name for name in names if name in self.names and name not in self.spent]
