"""What goes out in which round, what is kept, and what is asked again."""

from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from attrs import define, field, frozen

from antiphon import Consent, Form, Limits, Link, Server
from antiphon.engine.errors import MISSING_CAPABILITY
from antiphon.engine.jsonrpc import JsonObject
from antiphon.engine.questions import Given, Refusal
from antiphon.flows.asks import Ask
from tests.engine.peer import CANCEL, DECLINE, KEY, Peer, accept, asked, meta, text_of, told
from tests.flows.asking import Region, Size, Sure, with_tools

EU, US = accept(name="eu"), accept(name="us")
LARGE = accept(rows=1000)
YES = accept(sure="yes")


@define
class Counted:
    """Functions of ``Ask`` parameters that count their runs, and can change their words."""

    runs: Counter[str] = field(factory=Counter[str])
    words: str = "Where?"
    known: Region | None = None

    def region(self) -> Form[Region] | Region:
        self.runs["region"] += 1
        return self.known or Form(self.words, Region)

    def size(self, name: str) -> Form[Size]:
        self.runs["size"] += 1
        return Form(f"How large is {name}?", Size)

    async def sure(self, region: Region, size: Size) -> Form[Sure]:
        self.runs["sure"] += 1
        return Form(f"{size.rows} rows in {region.name}?", Sure)

    def link(self, region: Region) -> Link:
        self.runs["link"] += 1
        return Link(f"Sign for {region.name}.", "https://example.org")

    def tool(self) -> Callable[..., Any]:
        async def create(
            name: str,
            link: Annotated[Consent, Ask(self.link)],
            sure: Annotated[Sure, Ask(self.sure)],
            region: Annotated[Region, Ask(self.region)],
            size: Annotated[Size, Ask(self.size)],
        ) -> str:
            self.runs["create"] += 1
            return f"{name} {region.name} {size.rows} {sure.sure}"

        return create


@define
class Talk:
    """A conversation with ``create``."""

    peer: Peer
    step: dict[str, Any] = field(factory=dict[str, Any])
    name: str = "create"

    async def __call__(self, **responses: Any) -> list[str]:
        """One more round; what it asks."""
        state = self.step.get("requestState")
        given: Any = responses or None
        arguments = {"name": "orders"} if self.name == "create" else {}
        self.step = await self.peer.call(self.name, arguments, state=state, responses=given)
        return asked(self.step) if self.step["resultType"] == "input_required" else []

    def message(self, name: str) -> str:
        return str(self.step["inputRequests"][name]["params"]["message"])


def talk(counted: Counted, **options: Any) -> Talk:
    return Talk(with_tools(counted.tool(), **options))


async def test_independent_questions_go_out_together_and_dependent_ones_in_sequence() -> None:
    counted = Counted()
    say = talk(counted)
    assert await say() == ["region", "size"]
    assert await say(region=EU, size=LARGE) == ["link", "sure"]
    assert (say.message("link"), say.message("sure")) == ("Sign for eu.", "1000 rows in eu?")
    assert await say(link={"action": "accept"}, sure=YES) == []
    assert text_of(say.step) == "orders eu 1000 yes"
    # Each function ran twice: for its question, and to see that the answer was to this one.
    assert counted.runs == {"region": 2, "size": 2, "sure": 2, "link": 2, "create": 1}


async def test_a_value_lets_its_dependents_be_asked_in_the_same_round() -> None:
    counted = Counted(known=Region("us"))
    say = talk(counted)
    assert await say() == ["link", "size"]
    assert await say(link={"action": "accept"}, size=LARGE) == ["sure"]
    assert await say(sure=YES) == []
    assert text_of(say.step) == "orders us 1000 yes"
    # A value may be made in each round, and once at most.
    assert (counted.runs["region"], counted.runs["link"]) == (3, 2)


async def test_what_is_answered_is_kept_and_its_function_does_not_run_again() -> None:
    counted = Counted()
    say = talk(counted)
    await say()
    assert await say(size=LARGE) == ["region"]
    assert counted.runs["size"] == 2
    for _ in range(3):
        assert await say() == ["region"]
    counted.words = "In which region?"
    assert await say() == ["region"]
    assert counted.runs == {"region": 6, "size": 2}
    assert await say(region=EU) == ["link", "sure"]
    assert counted.runs == {"region": 7, "size": 2, "link": 1, "sure": 1}
    assert await say(sure=YES) == ["link"]
    assert await say(link={"action": "accept"}) == []
    assert text_of(say.step) == "orders eu 1000 yes"
    assert counted.runs == {"region": 7, "size": 2, "link": 3, "sure": 2, "create": 1}


async def test_an_answer_in_the_opening_request_is_kept_too() -> None:
    counted = Counted()
    say = talk(counted)
    assert await say(size=LARGE) == ["region"]
    assert await say(region=EU) == ["link", "sure"]
    assert (counted.runs["size"], say.message("sure")) == (1, "1000 rows in eu?")


async def test_a_stale_answer_is_asked_again() -> None:
    counted = Counted()
    say = talk(counted)
    await say()
    counted.words = "In which region?"
    assert await say(region=EU, size=LARGE) == ["region"]
    assert say.message("region") == "In which region?"
    assert await say(region=US) == ["link", "sure"]
    assert say.message("sure") == "1000 rows in us?"


async def test_a_refusal_of_a_question_that_has_changed_does_not_count() -> None:
    counted = Counted()
    say = talk(counted)
    await say()
    counted.words = "In which region?"
    assert await say(region=DECLINE) == ["region", "size"]


async def test_an_answer_to_a_question_that_was_not_put_yet_does_not_count() -> None:
    say = talk(Counted())
    await say()
    assert await say(region=EU, size=LARGE, sure=YES) == ["link", "sure"]
    assert await say(unknown=YES, region=US) == ["link", "sure"]


async def test_a_question_that_becomes_a_value_is_no_longer_asked() -> None:
    counted = Counted()
    say = talk(counted)
    await say()
    await say(size=LARGE)
    counted.known = Region("us")
    assert await say() == ["link", "sure"]
    counted.known = None
    assert await say(link={"action": "accept"}, sure=YES) == ["region"]
    assert await say(region=US) == ["link", "sure"]
    assert await say(link={"action": "accept"}, sure=YES) == []
    assert text_of(say.step) == "orders us 1000 yes"


async def test_a_question_that_differs_each_time_is_not_put_for_ever() -> None:
    counted = Counted()

    async def ask(region: Annotated[Region, Ask(lambda: counted.region())]) -> None: ...

    say = Talk(with_tools(ask), name="ask")
    for number in range(5):
        counted.words = f"Where, {number}?"
        assert await say(region=EU) == ["region"] if number else await say() == ["region"]
    counted.words = "Where now?"
    assert await say(region=EU) == []
    assert "was put 5 times" in told(say.step)


# -- answers of no use ------------------------------------------------------------------------


async def test_an_answer_of_no_use_is_asked_again_with_the_reason_and_then_given_up() -> None:
    say = talk(Counted())
    await say()
    for _ in range(2):
        assert await say(region=accept(name="mars")) == ["region", "size"]
        assert "Where?\n\nThe last answer cannot be used: name: " in say.message("region")
    assert await say(region=accept(name="mars")) == []
    text = told(say.step)
    assert text.startswith("create: the answer to 'region' could not be used (name: ")
    assert "limit unusable" in text
    assert "mars" not in text


async def test_beside_an_answer_that_is_kept_one_of_no_use_is_asked_again_with_the_reason() -> None:
    counted = Counted()
    say = talk(counted)
    await say()
    assert await say(region=accept(name="mars"), size=LARGE) == ["region"]
    assert "Where?\n\nThe last answer cannot be used: name: " in say.message("region")
    assert await say(region=accept()) == ["region"]
    assert '"name" is a required property' in say.message("region")
    assert counted.runs["size"] == 2
    assert await say(region=EU) == ["link", "sure"]


async def test_the_words_of_the_authors_own_check_reach_the_person_alone() -> None:
    @frozen
    class Even:
        rows: int

        def __attrs_post_init__(self) -> None:
            if self.rows % 2:
                raise ValueError(f"{self.rows} is odd{'!' * 5000}")

    async def ask(
        even: Annotated[Even, Ask("How large?")], region: Annotated[Region, Ask("Where?")]
    ) -> None: ...

    say = Talk(with_tools(ask), name="ask")
    await say()
    assert await say(region=EU, even=accept(rows=77)) == ["even"]
    assert "cannot be used: 77 is odd!!!" in say.message("even")
    assert len(say.message("even")) < 600
    for _ in range(2):
        assert await say(even=accept(rows=77)) == ["even"]
    await say(even=accept(rows=77))
    assert "the answer to 'even' could not be used" in told(say.step)
    assert "77" not in told(say.step)


# -- refusals ---------------------------------------------------------------------------------


async def test_a_refusal_ends_the_call_in_words_for_the_model() -> None:
    for answer, text in (
        (DECLINE, "create: the user declined to answer 'size', so nothing more was done. Do not"),
        (CANCEL, "create: the user closed the question 'size' without answering, so nothing more"),
    ):
        counted = Counted()
        say = talk(counted)
        await say()
        assert await say(region=EU, size=answer) == []
        assert told(say.step).startswith(text)
        assert counted.runs["create"] == 0


async def test_of_several_refusals_a_no_is_what_is_told() -> None:
    say = talk(Counted())
    await say()
    await say(region=CANCEL, size=DECLINE)
    assert "declined to answer 'size'" in told(say.step)
    say = talk(Counted())
    await say(region=DECLINE, size=DECLINE)
    assert "declined to answer 'region', 'size'" in told(say.step)


def whatever(region: Given[Region] | Refusal) -> Form[Size]:
    return Form(f"How large, after {region!r}?", Size)


async def test_a_parameter_may_take_the_whole_outcome() -> None:
    async def ask(
        region: Annotated[Given[Region] | Refusal, Ask("Where?")],
        link: Annotated[Given[Consent] | Refusal, Ask(lambda: Link("Go.", "https://a.org"))],
        size: Annotated[Size, Ask(whatever)],
    ) -> str:
        place = region.value.name if isinstance(region, Given) else region.how
        return f"{place} {type(link).__name__} {size.rows}"

    for answer, words in ((US, "Given"), (DECLINE, "how='declined'"), (CANCEL, "how='cancelled'")):
        say = Talk(with_tools(ask), name="ask")
        await say()
        assert await say(region=answer) == ["link"]
        assert await say(link=CANCEL) == ["size"]
        assert words in say.message("size")
        assert await say(size=LARGE) == []
        name = {"Given": "us"}.get(words, words[5:-1])
        assert text_of(say.step) == f"{name} Refusal 1000"


async def test_an_answer_of_no_use_is_no_outcome() -> None:
    async def ask(region: Annotated[Given[Region] | Refusal, Ask("Where?")]) -> None: ...

    say = Talk(with_tools(ask, limits=Limits(unusable=1)), name="ask")
    await say()
    assert await say(region=accept(name="mars")) == ["region"]
    await say(region=accept(name="mars"))
    assert "the answer to 'region' could not be used" in told(say.step)


async def test_a_whole_outcome_may_be_given_as_a_value() -> None:
    def known() -> Given[Region] | Refusal:
        return Given(Region("eu"))

    async def ask(region: Annotated[Given[Region] | Refusal, Ask(known)]) -> str:
        return region.value.name if isinstance(region, Given) else "-"

    assert text_of(await with_tools(ask).call("ask")) == "eu"


async def test_a_value_in_place_of_a_question_is_an_outcome_too() -> None:
    def known() -> Form[Region] | Region:
        return Region("eu")

    async def ask(region: Annotated[Given[Region] | Refusal, Ask(known)]) -> str:
        return region.value.name if isinstance(region, Given) else region.how

    assert text_of(await with_tools(ask).call("ask")) == "eu"


# -- clients that cannot be asked -------------------------------------------------------------


async def test_a_client_that_cannot_be_asked_is_told_what_it_lacks() -> None:
    peer = with_tools(Counted().tool())
    peer.capabilities = {"sampling": {}}
    refusal = await peer.refused("create", {"name": "orders"})
    assert refusal.code == MISSING_CAPABILITY
    assert refusal.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}


async def test_a_client_is_only_asked_what_it_must_be_asked() -> None:
    async def ask(region: Annotated[Region, Ask(Counted(known=Region("eu")).region)]) -> str:
        return region.name

    peer = with_tools(ask)
    peer.capabilities = {}
    assert text_of(await peer.call("ask")) == "eu"


# -- prompts and templates --------------------------------------------------------------------


@pytest.fixture
def both() -> Peer:
    server = Server("Both", keys=[KEY])

    async def region_of(name: str) -> Form[Region]:
        return Form(f"Where is {name}?", Region)

    @server.prompt
    async def plan(name: str, region: Annotated[Region, Ask(region_of)]) -> str:
        return f"Plan {name} for {region.name}."

    @server.resource_template("db://{name}")
    async def read(name: str, region: Annotated[Region, Ask(region_of)]) -> str:
        return f"{name} is in {region.name}."

    return Peer(server)


async def test_a_prompt_asks(both: Peer) -> None:
    (listed,) = (await both.ask("prompts/list"))["prompts"]
    assert [argument["name"] for argument in listed["arguments"]] == ["name"]
    given: JsonObject = {"name": "plan", "arguments": {"name": "orders"}}
    step = await both.ask("prompts/get", given)
    assert asked(step) == ["region"]
    further: JsonObject = {"requestState": step["requestState"], "inputResponses": {"region": EU}}
    result = await both.ask("prompts/get", {**given, **further})
    assert result["messages"][0]["content"]["text"] == "Plan orders for eu."
    refused: JsonObject = {"name": "plan", "arguments": {"name": "orders", "region": "eu"}}
    reply = await both.exchange("prompts/get", {"_meta": meta(), **refused})
    assert "region: is no argument" in str(reply)


async def test_a_template_asks(both: Peer) -> None:
    step = await both.ask("resources/read", {"uri": "db://orders"})
    assert asked(step) == ["region"]
    further: JsonObject = {"requestState": step["requestState"], "inputResponses": {"region": EU}}
    result = await both.ask("resources/read", {"uri": "db://orders", **further})
    assert result["contents"][0]["text"] == "orders is in eu."
    further["inputResponses"] = {"region": DECLINE}
    params: JsonObject = {"_meta": meta(), "uri": "db://orders", **further}
    reply = await both.exchange("resources/read", params)
    assert "read: the user declined to answer 'region'" in str(reply)
