"""How a completer is called, and which could never be."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

import pytest

from antiphon import Call, Complete, Completion, DefinitionError, UsageError
from tests.engine.offering import offering
from tests.engine.peer import Peer

Others = Mapping[str, str]


def said(call: object) -> list[str]:
    return ["call" if isinstance(call, Call) else str(call)]


async def two(value: str, others: Others) -> list[str]:
    return ["two"]


async def three(value: str, others: Others, who: Call) -> list[str]:
    return said(who)


async def with_default(value: str, others: Others, limit: int = 5) -> list[str]:
    return said(limit)


async def optional_call(value: str, others: Others, call: Call | None = None) -> list[str]:
    return said(call)


async def more_defaults(value: str, others: Others, who: Call, limit: int = 5) -> list[str]:
    return said(who)


async def keyword_default(value: str, others: Others, *, limit: int = 5) -> list[str]:
    return said(limit)


async def rest(*given: Any) -> list[str]:
    return [str(len(given))]


async def value_and_rest(value: str, others: Others, *more: Any) -> list[str]:
    return [str(len(more))]


class Names:
    async def __call__(self, value: str, others: Others, call: Call) -> list[str]:
        return said(call)


@pytest.mark.parametrize(
    ("suggest", "values"),
    [
        (two, ["two"]),
        (three, ["call"]),
        (with_default, ["5"]),
        (optional_call, ["call"]),
        (more_defaults, ["call"]),
        (keyword_default, ["5"]),
        (rest, ["2"]),
        (value_and_rest, ["0"]),
        (Names(), ["call"]),
        (partial(with_default, limit=7), ["7"]),
        (partial(partial(Names())), ["call"]),
    ],
)
async def test_a_third_parameter_is_the_call_unless_it_has_a_default(
    suggest: Any, values: list[str]
) -> None:
    server = offering()

    @server.prompt
    async def p(a: Annotated[str, Complete(suggest)]) -> str:
        return a

    params: Any = {"ref": {"type": "ref/prompt", "name": "p"}}
    params["argument"] = {"name": "a", "value": ""}
    result = await Peer(server).ask("completion/complete", params)
    assert result["completion"]["values"] == values


async def none() -> list[str]:
    return []


async def one(value: str) -> list[str]:
    return []


async def four(value: str, others: Others, call: Call, more: str) -> list[str]:
    return []


async def by_name(value: str, others: Others, *, call: Call) -> list[str]:
    return []


@pytest.mark.parametrize("suggest", [none, one, four, by_name, partial(two, "value")])
def test_a_completer_that_cannot_be_called_is_refused(suggest: Any) -> None:
    with pytest.raises(UsageError, match="this one cannot be called so: "):
        Complete(suggest)


def sync(value: str, others: Others) -> list[str]:
    return []


@pytest.mark.parametrize("suggest", [Names, partial(Names), sync])
def test_a_class_and_a_sync_function_are_no_completers(suggest: Any) -> None:
    with pytest.raises(UsageError, match=r"takes an `async def \(value, others\)` function"):
        Complete(suggest)


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"total": -5}, "total must not be negative"),
        ({"total": 1}, "total 1 is less than the 2 values"),
        ({"total": 2.0}, "total must be a whole number, not 2.0"),
        ({"total": True}, "total must be a whole number, not bool"),
        ({"has_more": 1}, "has_more must be True or False, not int"),
    ],
)
def test_a_completion_that_contradicts_itself_is_refused(given: Any, fault: str) -> None:
    with pytest.raises(DefinitionError, match="Completion has a fault:\n  - " + fault):
        Completion(["a", "b"], **given)
