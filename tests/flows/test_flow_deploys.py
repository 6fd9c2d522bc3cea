"""A call goes on after a deploy: two servers share their keys, and their flows differ."""

import logging
from typing import Any, ClassVar

import pytest
from attrs import field, frozen

from antiphon import Asking, Done, Flow, Form
from antiphon.engine.jsonrpc import JsonValue
from tests.engine.peer import Peer, accept, asked
from tests.engine.tools import serving
from tests.flows.declaring import Args, beginning, flow_class, hinted


@frozen
class Size:
    size: int


@frozen
class Sizing(Asking[Size]):
    item: str

    def ask(self) -> Form[Size]:
        return Form(f"Which size of {self.item}?", Size)


@frozen
class First(Flow[Args]):
    """The flow as it was before the deploy."""

    name = "order"

    async def begin(self, args: Args) -> Sizing:
        return Sizing(args.name)

    @Sizing.answered
    async def sized(self, at: Sizing, size: Size) -> Done[str]:
        return Done(f"first: {at.item} {size.size}")


@frozen
class Measuring(Asking[Size]):
    """Renamed, with the tag that it had; its field is renamed too, and one is new."""

    tag: ClassVar[str] = "Sizing"
    version: ClassVar[int] = 2
    what: str
    colours: frozenset[str]

    def ask(self) -> Form[Size]:
        return Form(f"Which size of {self.what}?", Size)

    @classmethod
    def upgrade(cls, version: int, fields: dict[str, JsonValue]) -> dict[str, JsonValue] | None:
        return {"what": fields["item"], "colours": [f"v{version}"]}


@frozen
class Second(Flow[Args]):
    """The flow as it is after the deploy."""

    name = "order"

    seen: list[Measuring] = field(factory=list[Measuring])

    async def begin(self, args: Args) -> Measuring:
        return Measuring(args.name, frozenset())

    @Measuring.answered
    async def measured(self, at: Measuring, size: Size) -> Done[str]:
        self.seen.append(at)
        return Done(f"second: {at.what} {size.size}")


INK = {"name": "ink"}
ANSWER = {"sizing": accept(size=5)}
USELESS = {"sizing": accept(size="big")}


async def opened(peer: Peer) -> dict[str, Any]:
    step = await peer.call("order", INK)
    assert asked(step) == ["sizing"]
    return step


async def text(peer: Peer, state: object, responses: object = ANSWER) -> str:
    result = await peer.call("order", INK, state=state, responses=responses)
    assert result["resultType"] == "complete"
    return str(result["content"][0]["text"])


async def test_a_call_that_began_before_the_deploy_is_finished_after_it() -> None:
    step = await opened(serving(First()))
    flow = Second()
    assert await text(serving(flow), step["requestState"]) == "second: ink 5"
    assert flow.seen == [Measuring("ink", frozenset({"v1"}))]


async def test_while_old_and_new_serve_together_each_takes_what_it_can_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    old, new = serving(First()), serving(Second())
    begun_old, begun_new = await opened(old), await opened(new)
    assert await text(new, begun_new["requestState"]) == "second: ink 5"
    assert await text(old, begun_old["requestState"]) == "first: ink 5"
    failure = await old.refused("order", INK, state=begun_new["requestState"], responses=ANSWER)
    assert (failure.code, failure.message) == (-32602, "Invalid or expired requestState")
    assert "the state is of a version that the flow does not read" in caplog.text


async def test_a_state_that_stays_is_upgraded_in_each_round_and_goes_back_too() -> None:
    old, new = serving(First()), serving(Second())
    step = await opened(old)
    step = await new.call("order", INK, state=step["requestState"], responses=USELESS)
    assert asked(step) == ["sizing"]
    assert await text(new, step["requestState"]) == "second: ink 5"
    assert await text(old, step["requestState"]) == "first: ink 5"


async def test_answers_to_a_question_that_the_deploy_has_changed_are_asked_for_again() -> None:
    class Reworded(Measuring):
        def ask(self) -> Form[Size]:
            return Form(f"How large shall {self.what} be?", Size)

    step = await opened(serving(First()))
    new = serving(_flow_of(frozen(Reworded)))
    step = await new.call("order", INK, state=step["requestState"], responses=ANSWER)
    (question,) = step["inputRequests"].values()
    assert question["params"]["message"] == "How large shall ink be?"
    assert await text(new, step["requestState"]) == "ink 5"


def _flow_of(state: Any) -> Flow[Any]:
    """The flow after a deploy that has given it this state."""

    async def measured(self: Any, at: Any, size: Size) -> Done[str]:
        return Done(f"{at.what} {size.size}")

    handler = state.answered(hinted(measured, at=state))
    made: Flow[Any] = flow_class(name="order", begin=beginning(state), measured=handler)()
    return made


# -- what a deploy cannot carry over ----------------------------------------------------------


class Untagged(Measuring):
    """Renamed, and the tag is forgotten."""

    tag: ClassVar[str] = ""


class NotUpgraded(Measuring):
    @classmethod
    def upgrade(cls, version: int, fields: dict[str, JsonValue]) -> dict[str, JsonValue] | None:
        return None


class Raising(Measuring):
    @classmethod
    def upgrade(cls, version: int, fields: dict[str, JsonValue]) -> dict[str, JsonValue] | None:
        raise LookupError(f"nothing known of {fields['item']}")


class Misfitting(Measuring):
    @classmethod
    def upgrade(cls, version: int, fields: dict[str, JsonValue]) -> dict[str, JsonValue] | None:
        return fields


class Unversioned(Measuring):
    """Its fields have changed, and its version has not."""

    version: ClassVar[int] = 1


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (Untagged, "the flow has no state of this tag"),
        (NotUpgraded, "the state is of a version that the flow does not read"),
        (Raising, "the state's data does not fit the state (LookupError)"),
        (Misfitting, "the state's data does not fit the state"),
        (Unversioned, "the state's data does not fit the state"),
    ],
    ids=lambda case: getattr(case, "__name__", ""),
)
async def test_a_state_that_the_new_flow_cannot_read_has_one_face_and_its_reason_in_the_log(
    state: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    step = await opened(serving(First()))
    new = serving(_flow_of(frozen(state)))
    failure = await new.refused("order", INK, state=step["requestState"], responses=ANSWER)
    assert (failure.code, failure.message) == (-32602, "Invalid or expired requestState")
    assert failure.data is None
    (record,) = caplog.records
    assert (record.levelno, record.exc_info) == (logging.WARNING, None)
    assert reason in record.getMessage()
    assert "ink" not in record.getMessage()
