"""Questions of a tool as optional arguments of it, for where nobody can be asked.

``server.tool(Provision(cloud), preanswer=[ChoosingRegion])`` lets a model say the region in the
call. Whoever is named so can be answered by a model: a confirmation should not be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

from ..engine.checks import kind_of
from ..engine.errors import DefinitionError
from ..engine.forms import form_schema
from ..engine.jsonrpc import JsonObject
from ..engine.machine import Machine
from .states import Asking

Preanswerable: TypeAlias = bool | Collection[type[Asking[Any]] | str]
"""True for every form; or which: states of a flow by class, ``Ask`` parameters by name."""

_ABOUT = (
    "Answers beforehand what the user would be asked otherwise; leave it out to have them asked."
)


@runtime_checkable
class AsksForms(Protocol):
    """A machine whose forms are known before it runs."""

    def forms(self) -> Mapping[str, tuple[object, type]]:
        """By the name of the argument that may answer it: what asks a form, and its answer."""
        ...


def answering(
    machine: Machine, wanted: Preanswerable, schema: JsonObject, subject: str
) -> dict[str, JsonObject]:
    """The schemas of the arguments that answer questions beforehand, by name.

    Args:
        machine: what asks.
        wanted: see :data:`Preanswerable`.
        schema: the input schema so far.
        subject: what is registered.

    Raises:
        DefinitionError: what is named asks no form, or an argument has the name already.
    """
    if wanted is False:
        return {}
    forms = _forms_of(machine)
    faults = list(_faults(forms, wanted, schema))
    if faults:
        raise DefinitionError(subject, faults)
    return {
        name: {**form_schema(answer), "description": _ABOUT}
        for name, (asker, answer) in forms.items()
        if wanted is True or asker in cast("Collection[object]", wanted)
    }


def _forms_of(machine: object) -> Mapping[str, tuple[object, type]]:
    return machine.forms() if isinstance(machine, AsksForms) else {}


def _faults(
    forms: Mapping[str, tuple[object, type]], wanted: object, schema: JsonObject
) -> Iterator[str]:
    if not isinstance(wanted, Collection | bool) or isinstance(wanted, str):
        yield f"preanswer must be True or a list of states or parameters, not {kind_of(wanted)}"
        return
    if not forms:
        yield "preanswer is for questions that are forms, and it declares none"
        return
    askers = {asker for asker, _ in forms.values()}
    named = askers if isinstance(wanted, bool) else set(cast("Collection[object]", wanted))
    for asker in sorted(named - askers, key=_spoken):
        yield f"preanswer names {_spoken(asker)}, which asks no form here"
    taken = cast(JsonObject, schema.get("properties", {}))
    for name, (asker, _) in forms.items():
        if asker in named and name in taken:
            yield f"{_spoken(asker)} would be answered by argument {name!r}, which there is already"


def _spoken(asker: object) -> str:
    return asker.__name__ if isinstance(asker, type) else repr(asker)
