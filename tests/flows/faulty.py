"""States for wrong flows, and what is told of such a flow."""

from collections.abc import Callable

import pytest
from attrs import frozen

from antiphon import (
    Acting,
    Asking,
    DefinitionError,
    Form,
    Polling,
    UsageError,
)

VAGUE = "is too vague; name each state, Done[...] or Failed that it may return"


@frozen
class Yes:
    sure: bool = False


@frozen
class Name:
    name: str


@frozen
class Confirming(Asking[Yes]):
    name: str

    def ask(self) -> Form[Yes]:
        return Form(f"Sure about {self.name}?", Yes)


@frozen
class Naming(Asking[Name]):
    def ask(self) -> Form[Name]:
        return Form("Which name?", Name)


@frozen
class Baking(Polling):
    pass


@frozen
class Storing(Acting):
    pass


def faults_of(declare: Callable[[], object]) -> tuple[str, ...]:
    with pytest.raises(DefinitionError) as caught:
        declare()
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, UsageError)
    assert caught.value.subject == "Flow Wrong"
    assert all(fault in str(caught.value) for fault in caught.value.faults)
    return caught.value.faults


def fault_of(declare: Callable[[], object]) -> str:
    (fault,) = faults_of(declare)
    return fault
