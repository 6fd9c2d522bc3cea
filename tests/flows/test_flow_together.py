"""Several questions of one round, and links that are waited for."""

from collections.abc import Sequence
from typing import Any

import pytest
from attrs import frozen

from antiphon import (
    Asking,
    Call,
    Consent,
    Done,
    Failed,
    Flow,
    Form,
    IllegalMove,
    Limits,
    Link,
    ListRoots,
    Polling,
    Root,
    Together,
    UsageError,
    all_of,
    walk,
)
from antiphon.engine.jsonrpc import JsonObject


@frozen
class Args:
    name: str = ""


@frozen
class Name:
    name: str


@frozen
class Yes:
    sure: bool = False


@frozen
class Both(Asking[tuple[Name, Yes, tuple[Root, ...]]]):
    keys: tuple[str | None, str | None, str | None] = (None, None, None)

    def ask(self) -> Together[tuple[Name, Yes, tuple[Root, ...]]]:
        one, two, three = self.keys
        return all_of(
            Form("Which name?", Name, key=one), Form("Sure?", Yes, key=two), ListRoots(key=three)
        )


@frozen
class AskBoth(Flow[Args]):
    keys: tuple[str | None, str | None, str | None] = (None, None, None)

    async def begin(self, args: Args) -> Both:
        return Both(self.keys)

    @Both.answered
    async def given(self, at: Both, answers: tuple[Name, Yes, tuple[Root, ...]]) -> Done[list[str]]:
        name, yes, roots = answers
        return Done([name.name, str(yes.sure), *(root.uri for root in roots)])


async def test_keys_come_from_the_state_where_none_are_given() -> None:
    step = await walk(AskBoth(), Args())
    assert list(step.requests) == ["both_1", "both_2", "both_3"]
    step = await step.answer(Name("a"), Yes(True), (Root("file:///r"),))
    assert step.end == Done(["a", "True", "file:///r"])


async def test_keys_may_be_given() -> None:
    step = await walk(AskBoth(("name", None, "roots")), Args())
    assert list(step.requests) == ["name", "both_2", "roots"]


@pytest.mark.parametrize("keys", [("both_2", None, None), (None, None, "both_1")])
async def test_two_questions_under_one_key_are_the_flows_fault(keys: Any) -> None:
    with pytest.raises(IllegalMove, match=r"Both\.ask puts two questions under one key"):
        await walk(AskBoth(keys), Args())


ANSWERS: JsonObject = {
    "both_1": {"action": "accept", "content": {"name": "a"}},
    "both_2": {"action": "accept", "content": {"sure": True}},
    "both_3": {"roots": []},
}


@pytest.mark.parametrize(
    "order", [(1, 2, 3), (3, 2, 1), (2, 3, 1), (1, 3, 2), (2, 1, 3), (3, 1, 2)], ids=str
)
async def test_answers_may_come_one_by_one_in_any_order(order: Sequence[int]) -> None:
    step = await walk(AskBoth(), Args())
    for number in order[:-1]:
        before = set(step.requests)
        key = f"both_{number}"
        step = await step.respond({key: ANSWERS[key]})
        assert set(step.requests) == before - {key}
        assert step.state == Both()
    step = await step.respond({f"both_{order[-1]}": ANSWERS[f"both_{order[-1]}"]})
    assert step.end == Done(["a", "True"])


async def test_a_refusal_refuses_what_was_answered_before_too() -> None:
    step = await walk(AskBoth(), Args())
    step = await step.respond({"both_1": ANSWERS["both_1"]})
    step = await step.decline()
    assert isinstance(step.end, Failed)


async def test_declined_weighs_more_than_cancelled() -> None:
    step = await walk(AskBoth(), Args())
    step = await step.respond({"both_1": {"action": "cancel"}, "both_2": {"action": "decline"}})
    assert isinstance(step.end, Failed)
    assert "declined" in step.end.message


async def test_too_many_questions_are_the_flows_fault() -> None:
    with pytest.raises(UsageError, match="asks 3 questions in one round; limit questions is 2"):
        await walk(AskBoth(), Args(), limits=Limits(questions=2))


# -- links ------------------------------------------------------------------------------------


@frozen
class Visiting(Asking[Consent]):
    def ask(self) -> Link:
        return Link("Sign in.", "https://example.org", key="link")


@frozen
class SigningIn(Polling):
    looked: int = 0


@frozen
class SignIn(Flow[Args]):
    """Consent says nothing about what happened at the link, so the flow waits for that."""

    signed_in: set[str]

    async def begin(self, args: Args) -> Visiting:
        return Visiting()

    @Visiting.answered
    async def agreed(self, at: Visiting, consent: Consent) -> SigningIn:
        return SigningIn()

    @SigningIn.polled
    async def looked(self, at: SigningIn, call: Call[Args]) -> SigningIn | Done[str] | Failed:
        if call.args.name in self.signed_in:
            return Done("signed in")
        return SigningIn(at.looked + 1) if at.looked < 3 else Failed("Nobody signed in.")


async def test_consent_to_a_link_leads_to_a_wait_and_not_to_the_same_question() -> None:
    signed_in: set[str] = set()
    step = await walk(SignIn(signed_in), Args("a"))
    assert list(step.requests) == ["link"]
    step = await step.answer(Consent())
    waiting = step = await step.poll()
    assert (step.state, step.requests) == (SigningIn(1), {})
    signed_in.add("a")
    assert (await step.poll()).end == Done("signed in")
    signed_in.clear()
    for _ in range(2):
        waiting = await waiting.poll()
    assert (await waiting.poll()).end == Failed("Nobody signed in.")
