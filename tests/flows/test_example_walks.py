"""The examples, walked along every edge that they declare."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from antiphon import (
    Done,
    Failed,
    Flow,
    Limits,
    Progress,
    ProtocolError,
    Root,
    Sampled,
    UsageError,
    walk,
)
from antiphon.engine.jsonrpc import JsonObject
from antiphon.flows.testing import Step
from examples.provision import (
    ChoosingRegion,
    Cloud,
    Confirmed,
    ConfirmingProd,
    Database,
    Provision,
    ProvisionArgs,
    Region,
)
from examples.review import (
    AwaitingVerdict,
    GatheringOpinion,
    Review,
    ReviewArgs,
    ReviewChange,
    Verdict,
)
from examples.slow_report import Press, Printing, Report, ReportArgs, SlowReport

FORMS: JsonObject = {"elicitation": {}}
EMPTY: JsonObject = {"action": "accept", "content": {}}


async def provision() -> Step:
    return await walk(Provision(Cloud()), ProvisionArgs("orders"))


async def confirming() -> Step:
    return await (await provision()).answer(Region("prod"))


async def unusable(step: Step) -> Step:
    """Accept without content until that is taken for good."""
    for _ in range(3):
        step = await step.respond(dict.fromkeys(step.requests, EMPTY))
    return step


# -- provision --------------------------------------------------------------------------------


async def test_a_database_outside_production_needs_one_answer() -> None:
    step = await provision()
    assert step.state == ChoosingRegion("orders")
    assert step.requests == {
        "choosing_region": {
            "method": "elicitation/create",
            "params": {
                "mode": "form",
                "message": "Which region should 'orders' live in?",
                "requestedSchema": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "enum": ["eu-west-1", "us-east-1", "prod"]}
                    },
                    "required": ["name"],
                },
            },
        }
    }
    assert (await step.answer(Region("eu-west-1"))).end == Done(Database("orders", "eu-west-1"))


async def test_production_needs_another() -> None:
    step = await confirming()
    assert step.state == ConfirmingProd("orders")
    assert list(step.requests) == ["confirming_prod"]
    assert (await step.answer(Confirmed("yes"))).end == Done(Database("orders", "prod"))


async def test_whoever_is_not_sure_chooses_again() -> None:
    step = await (await confirming()).answer(Confirmed("no"))
    assert step.state == ChoosingRegion("orders")
    assert (await step.answer(Region("us-east-1"))).end == Done(Database("orders", "us-east-1"))


@pytest.mark.parametrize("refuse", [Step.decline, Step.cancel])
async def test_production_that_is_refused_is_told(
    refuse: Callable[[Step], Awaitable[Step]],
) -> None:
    assert (await refuse(await confirming())).end == Failed(
        "'orders' was not provisioned: production was declined."
    )


DECLINED = "provision: the user declined to answer, so nothing more was done. Do not retry."
CLOSED = (
    "provision: the user closed the question without answering, so nothing more was done. "
    "Ask the user before calling again."
)


@pytest.mark.parametrize(("refuse", "told"), [(Step.decline, DECLINED), (Step.cancel, CLOSED)])
async def test_a_refusal_without_a_method_ends_in_words_for_a_model(
    refuse: Callable[[Step], Awaitable[Step]], told: str
) -> None:
    assert (await refuse(await provision())).end == Failed(told)


async def test_an_answer_of_no_use_is_asked_for_twice_again_and_then_given_up() -> None:
    step = await provision()
    question = step.requests["choosing_region"]
    for _ in range(2):
        step = await step.respond({"choosing_region": EMPTY})
        assert step.state == ChoosingRegion("orders")
        params: Any = step.requests["choosing_region"]["params"]
        assert params["message"] == (
            "Which region should 'orders' live in?\n\nThe last answer cannot be used: "
            '"name" is a required property.'
        )
        assert step.requests["choosing_region"] != question
    step = await step.respond({"choosing_region": EMPTY})
    assert step.end == Failed(
        'provision: the answer could not be used ("name" is a required property), and was asked '
        "for again as often as limit unusable allows (Limits(unusable=...) raises it), so nothing "
        "more was done."
    )


async def test_how_often_an_answer_of_no_use_is_asked_for_again_can_be_set() -> None:
    step = await walk(Provision(Cloud()), ProvisionArgs("a"), limits=Limits(unusable=1))
    step = await step.respond({"choosing_region": EMPTY})
    assert step.end is None
    assert isinstance((await step.respond({"choosing_region": EMPTY})).end, Failed)


async def test_the_count_begins_anew_in_the_next_state() -> None:
    step = await provision()
    for _ in range(2):
        step = await step.respond({"choosing_region": EMPTY})
    step = await step.answer(Region("prod"))
    for _ in range(2):
        step = await step.respond({"confirming_prod": EMPTY})
        assert step.state == ConfirmingProd("orders")
    assert (await step.answer(Confirmed("yes"))).end == Done(Database("orders", "prod"))


async def test_a_client_that_cannot_be_asked_is_told_what_it_lacks() -> None:
    with pytest.raises(ProtocolError) as caught:
        await walk(Provision(Cloud()), ProvisionArgs("orders"), capabilities={"sampling": {}})
    assert caught.value.code == -32021
    assert caught.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}
    assert caught.value.message == (
        "provision has to ask: \"Which region should 'orders' live in?\"; and this client has not "
        "declared that it can be asked (elicitation.form), so nothing more was done. Tell the user "
        "what is needed, or call again from a client that can show questions."
    )


# -- review -----------------------------------------------------------------------------------

ROOTS = (Root("file:///work", "work"), Root("file:///lib"))
SAFE = Sampled("m", {"type": "text", "text": "SAFE, a typo"})
RISKY = Sampled("m", [{"type": "text", "text": "RISKY"}, {"type": "text", "text": "drops a table"}])


async def review(capabilities: JsonObject | None = None) -> Step:
    if capabilities is None:
        return await walk(ReviewChange(), ReviewArgs("- a\n+ b"))
    return await walk(ReviewChange(), ReviewArgs("- a\n+ b"), capabilities=capabilities)


async def test_a_safe_change_passes() -> None:
    step = await review()
    assert step.state == GatheringOpinion("- a\n+ b")
    assert {key: request["method"] for key, request in step.requests.items()} == {
        "opinion": "sampling/createMessage",
        "roots": "roots/list",
    }
    step = await step.answer(SAFE, ROOTS)
    assert step.end == Done(
        Review(
            "approve",
            "safe by the model's opinion",
            "SAFE, a typo",
            ["file:///work", "file:///lib"],
        )
    )


async def test_for_a_risky_change_a_person_decides() -> None:
    step = await (await review()).answer(RISKY, ())
    assert step.state == AwaitingVerdict("RISKY\ndrops a table", [])
    assert list(step.requests) == ["verdict"]
    step = await step.answer(Verdict("reject"))
    assert step.end == Done(Review("reject", "", "RISKY\ndrops a table", []))


async def test_a_client_without_a_model_gets_the_form_at_once() -> None:
    step = await review(FORMS)
    assert (step.state, step.round) == (AwaitingVerdict("", []), 1)
    params: Any = step.requests["verdict"]["params"]
    assert "No model could be asked" in params["message"]


async def test_a_client_that_can_do_half_of_it_is_treated_likewise() -> None:
    assert (await review({"elicitation": {}, "sampling": {}})).state == AwaitingVerdict("", [])


async def test_a_client_that_can_be_asked_nothing_is_told_what_it_lacks() -> None:
    with pytest.raises(ProtocolError) as caught:
        await review({})
    assert caught.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}


@pytest.mark.parametrize("refuse", [Step.decline, Step.cancel])
async def test_a_review_that_is_left_open_is_told(
    refuse: Callable[[Step], Awaitable[Step]],
) -> None:
    assert (await refuse(await review(FORMS))).end == Failed(
        "The change is not reviewed: nobody decided."
    )


async def test_what_is_no_answer_to_sampling_is_asked_for_again() -> None:
    step = await (await review()).respond({"opinion": {"model": "m"}, "roots": EMPTY})
    assert list(step.requests) == ["opinion", "roots"]


@pytest.mark.parametrize(("action", "how"), [("decline", "declined"), ("cancel", "closed")])
async def test_sampling_and_roots_can_be_refused_like_any_question(action: str, how: str) -> None:
    refusal: JsonObject = {"action": action}
    step = await (await review()).respond({"opinion": refusal, "roots": refusal})
    assert isinstance(step.end, Failed)
    assert how in step.end.message


# -- slow report ------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_a_report_is_polled_until_it_is_printed() -> None:
    clock = Clock()
    step = await walk(SlowReport(Press(clock)), ReportArgs("Sales", 12))
    assert step.state == Printing("Sales", 12, 1000.0)
    assert step.progress == Progress(0, 12, "0 of 12 pages", again_in=0.25)
    assert step.requests == {}
    clock.now += 1
    step = await step.poll()
    assert step.progress == Progress(10, 12, "10 of 12 pages", again_in=0.2)
    clock.now += 0.2
    step = await step.poll()
    assert (step.end, step.round) == (Done(Report("Sales", 12)), 3)


async def test_a_report_without_pages_is_printed_at_the_first_look() -> None:
    step = await walk(SlowReport(Press(Clock())), ReportArgs("Sales", 0))
    assert (await step.poll()).end == Done(Report("Sales", 0))


# -- every edge -------------------------------------------------------------------------------

Way: TypeAlias = Callable[[], Awaitable[object]]


async def refused(start: Callable[[], Awaitable[Step]]) -> None:
    await (await start()).decline()
    await (await start()).cancel()
    await unusable(await start())


async def provision_ways() -> None:
    await refused(provision)
    await refused(confirming)
    await (await provision()).answer(Region("eu-west-1"))
    await (await confirming()).answer(Confirmed("yes"))
    await (await confirming()).answer(Confirmed("no"))


async def review_ways() -> None:
    async def verdict() -> Step:
        return await review(FORMS)

    await refused(verdict)
    await (await review()).answer(SAFE, ROOTS)
    await (await review()).answer(RISKY, ROOTS)
    await (await verdict()).answer(Verdict("approve", "fine"))


async def report_ways() -> None:
    clock = Clock()
    step = await walk(SlowReport(Press(clock)), ReportArgs("Sales", 5))
    step = await step.poll()
    clock.now += 1
    await step.poll()


@pytest.mark.parametrize(
    ("flow", "ways"),
    [(Provision, provision_ways), (ReviewChange, review_ways), (SlowReport, report_ways)],
    ids=["provision", "review", "slow_report"],
)
async def test_every_edge_that_is_declared_can_be_walked(
    flow: type[Flow[Any]], ways: Way, walked: set[tuple[str, str, str]]
) -> None:
    await ways()
    declared = {
        (edge.source.__name__ if edge.source else "", edge.event, edge.target.__name__)
        for edge in flow.edges
    }
    assert walked == declared


# -- the walk itself --------------------------------------------------------------------------


async def test_a_step_takes_as_many_answers_as_questions_are_open() -> None:
    step = await provision()
    for answers in ((), (Region("prod"), Region("prod"))):
        with pytest.raises(UsageError, match=f"1 questions are open, not {len(answers)}"):
            await step.answer(*answers)


async def test_a_walk_that_has_ended_goes_no_further() -> None:
    step = await (await provision()).answer(Region("eu-west-1"))
    assert (step.state, step.requests, step.progress) == (None, {}, None)
    with pytest.raises(UsageError, match="ended"):
        await step.poll()


async def test_a_step_can_be_gone_on_from_more_than_once() -> None:
    step = await provision()
    one, other = await step.answer(Region("prod")), await step.decline()
    assert one.state == ConfirmingProd("orders")
    assert isinstance(other.end, Failed)
    assert step.state == ChoosingRegion("orders")


async def test_a_step_shows_no_answer_in_its_repr() -> None:
    assert "prod" not in repr(await confirming())
