"""A call goes on after a deploy: two servers share their keys, and their functions differ."""

from typing import Annotated, Any, Literal

import pytest
from attrs import frozen

from antiphon import Asking, Consent, Done, Flow, Form, Link
from antiphon.engine.by_hand import InputRequired
from antiphon.engine.questions import Given, Refusal
from antiphon.flows.asks import Ask
from tests.engine.peer import DECLINE, Peer, accept, asked, text_of
from tests.flows.asking import Region, Size, Sure, with_tools

EU = accept(name="eu")
LARGE = accept(rows=5)
YES = accept(sure="yes")
NAME = {"name": "orders"}


async def create(
    name: str,
    region: Annotated[Region, Ask("Where?")],
    size: Annotated[Size, Ask("How large?")],
    sure: Annotated[Sure, Ask(lambda region, size: Form("Sure?", Sure))],
) -> str:
    return f"{name} {region.name} {size.rows} {sure.sure}"


async def opened(**responses: Any) -> dict[str, Any]:
    """The call, begun before the deploy, after a round with these answers."""
    peer = with_tools(create)
    step = await peer.call("create", NAME)
    return await on(peer, step, **responses) if responses else step


async def on(peer: Peer, step: dict[str, Any], **responses: Any) -> dict[str, Any]:
    return await peer.call("create", NAME, state=step["requestState"], responses=responses)


def deployed(function: Any) -> Peer:
    function.__name__ = "create"
    return with_tools(function)


async def test_nothing_that_is_the_same_is_asked_again() -> None:
    step = await on(deployed(create), await opened(region=EU, size=LARGE), sure=YES)
    assert text_of(step) == "orders eu 5 yes"


async def test_a_parameter_that_is_new_is_asked_for() -> None:
    async def new(
        name: str,
        region: Annotated[Region, Ask("Where?")],
        size: Annotated[Size, Ask("How large?")],
        sure: Annotated[Sure, Ask(lambda region, size: Form("Sure?", Sure))],
        paid: Annotated[Consent, Ask(lambda: Link("Pay.", "https://example.org"))],
    ) -> str:
        return f"{name} {region.name} {size.rows} {sure.sure} {paid}"

    peer = deployed(new)
    step = await on(peer, await opened(region=EU), size=LARGE)
    assert asked(step) == ["sure", "paid"]
    step = await on(peer, step, sure=YES, paid={"action": "accept"})
    assert text_of(step) == "orders eu 5 yes Consent()"


async def test_a_parameter_that_is_gone_is_forgotten() -> None:
    async def smaller(name: str, size: Annotated[Size, Ask("How large?")]) -> str:
        return f"{name} {size.rows}"

    peer = deployed(smaller)
    # Its answer is dropped, its open question is not asked again.
    assert text_of(await on(peer, await opened(region=EU), size=LARGE)) == "orders 5"
    assert text_of(await on(peer, await opened(size=LARGE), region=EU)) == "orders 5"
    assert text_of(await on(peer, await opened(region=EU, size=LARGE), sure=YES)) == "orders 5"


async def test_a_parameter_that_is_renamed_is_asked_for_under_its_new_name() -> None:
    async def renamed(
        name: str,
        place: Annotated[Region, Ask("Where?")],
        size: Annotated[Size, Ask("How large?")],
    ) -> str:
        return f"{name} {place.name} {size.rows}"

    peer = deployed(renamed)
    step = await on(peer, await opened(region=EU), size=LARGE)
    assert asked(step) == ["place"]
    assert text_of(await on(peer, step, place=EU)) == "orders eu 5"


async def test_an_answer_of_another_type_is_asked_for_again() -> None:
    @frozen
    class Where:
        name: Literal["eu", "us", "asia"]

    async def wider(
        name: str,
        region: Annotated[Where, Ask("Where?")],
        size: Annotated[Size, Ask("How large?")],
    ) -> str:
        return f"{name} {region.name} {size.rows}"

    peer = deployed(wider)
    step = await on(peer, await opened(region=EU), size=LARGE)
    assert asked(step) == ["region"]
    assert text_of(await on(peer, step, region=accept(name="asia"))) == "orders asia 5"


async def test_an_open_question_in_other_words_is_put_again_and_an_answered_one_is_not() -> None:
    async def reworded(
        name: str,
        region: Annotated[Region, Ask("In which region?")],
        size: Annotated[Size, Ask("How many rows?")],
    ) -> str:
        return f"{name} {region.name} {size.rows}"

    peer = deployed(reworded)
    step = await on(peer, await opened(region=EU), size=LARGE)
    assert asked(step) == ["size"]
    assert step["inputRequests"]["size"]["params"]["message"] == "How many rows?"
    assert text_of(await on(peer, step, size=LARGE)) == "orders eu 5"


async def test_a_refusal_counts_as_long_as_the_parameter_takes_it() -> None:
    async def lenient(
        name: str,
        region: Annotated[Given[Region] | Refusal, Ask("Where?")],
        size: Annotated[Size, Ask("How large?")],
    ) -> str:
        return f"{name} {region} {size.rows}"

    before = deployed(lenient)
    begun = await on(before, await before.call("create", NAME), region=DECLINE)
    assert text_of(await on(before, begun, size=LARGE)) == "orders Refusal(how='declined') 5"
    assert asked(await on(with_tools(create), begun, size=LARGE)) == ["region"]
    # And an answer that was given is handed over as such.
    assert "Given" in text_of(await on(before, await opened(region=EU), size=LARGE))


async def test_a_class_that_refuses_an_old_answer_has_it_asked_for_again() -> None:
    limit = 9

    @frozen
    class Bounded:
        rows: int

        def __attrs_post_init__(self) -> None:
            if self.rows > limit:
                raise ValueError("too many")

    async def bounded(
        name: str,
        size: Annotated[Bounded, Ask("How large?")],
        region: Annotated[Region, Ask("Where?")],
    ) -> str:
        return f"{size.rows}"

    peer = deployed(bounded)
    step = await on(peer, await peer.call("create", NAME), size=LARGE)
    limit = 3
    assert asked(await on(peer, step, region=EU)) == ["size"]


# -- what a deploy cannot carry over ----------------------------------------------------------


async def plain(name: str) -> str:
    return name


async def by_hand(name: str) -> str | InputRequired:
    return InputRequired({"size": Form("How large?", Size)}, state=1)


@frozen
class Args:
    name: str


@frozen
class Sizing(Asking[Size]):
    def ask(self) -> Form[Size]:
        return Form("How large?", Size)


@frozen
class Create(Flow[Args]):
    async def begin(self, args: Args) -> Sizing:
        return Sizing()

    @Sizing.answered
    async def sized(self, at: Sizing, size: Size) -> Done[str]:
        return Done(str(size.rows))


async def asking(name: str, size: Annotated[Size, Ask("How large?")]) -> None: ...


OTHERS = [plain, by_hand, Create()]


@pytest.mark.parametrize("other", OTHERS[:2], ids=["plain", "by hand"])
async def test_a_function_that_asks_otherwise_now_refuses_the_state(
    other: Any, caplog: pytest.LogCaptureFixture
) -> None:
    await refused(deployed(other), await opened(), caplog)


async def test_a_flow_in_its_place_refuses_the_state(caplog: pytest.LogCaptureFixture) -> None:
    await refused(with_tools(Create()), await opened(), caplog)


@pytest.mark.parametrize("other", OTHERS[1:], ids=["by hand", "flow"])
async def test_the_state_of_one_that_asked_otherwise_before_is_refused(
    other: Any, caplog: pytest.LogCaptureFixture
) -> None:
    before = with_tools(other) if isinstance(other, Flow) else deployed(other)
    await refused(deployed(asking), await before.call("create", NAME), caplog)


async def refused(peer: Peer, step: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    state = step["requestState"]
    refusal = await peer.refused("create", NAME, state=state, responses={"size": LARGE})
    assert (refusal.code, refusal.message) == (-32602, "Invalid or expired requestState")
    assert "the flow has no state of this tag" in caplog.text
