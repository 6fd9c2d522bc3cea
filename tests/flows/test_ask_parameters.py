"""Parameters that a function fills, as a client of the tool sees them."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any

import pytest
from attrs import frozen

from antiphon import (
    Call,
    Consent,
    Done,
    Failed,
    Form,
    Link,
    ListRoots,
    Meta,
    Root,
    Sample,
    Sampled,
    ToolError,
)
from antiphon.engine.by_hand import InputRequired
from antiphon.flows.asks import Ask
from tests.engine.peer import Peer, accept, asked, members, text_of, told
from tests.flows.asking import Region, Size, Sure, with_tools

EU = accept(name="eu")
YES = accept(sure="yes")


async def create(name: str, region: Annotated[Region, Ask("Where should it live?")]) -> str:
    """Create a database."""
    return f"{name} in {region.name}"


async def test_one_question_is_asked_and_its_answer_is_the_parameter() -> None:
    peer = with_tools(create)
    step = await peer.call("create", {"name": "orders"})
    assert step["inputRequests"] == {
        "region": {
            "method": "elicitation/create",
            "params": {
                "mode": "form",
                "message": "Where should it live?",
                "requestedSchema": {
                    "type": "object",
                    "properties": {"name": {"type": "string", "enum": ["eu", "us"]}},
                    "required": ["name"],
                },
            },
        }
    }
    result = await peer.call(
        "create", {"name": "orders"}, state=step["requestState"], responses={"region": EU}
    )
    assert (result["resultType"], text_of(result)) == ("complete", "orders in eu")


async def test_the_parameter_is_not_in_the_schema_and_nobody_can_supply_it() -> None:
    peer = with_tools(create)
    (tool,) = (await peer.ask("tools/list"))["tools"]
    assert tool["inputSchema"] == {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    }
    for value in ({"name": "eu"}, None, "eu"):
        refusal = told(await peer.call("create", {"name": "orders", "region": value}))
        assert "'region' was unexpected" in refusal


async def test_the_opening_request_may_answer_at_once() -> None:
    peer = with_tools(create)
    result = await peer.call("create", {"name": "orders"}, responses={"region": EU})
    assert text_of(result) == "orders in eu"


async def test_a_function_may_be_called_directly_with_everything() -> None:
    assert await create("orders", Region("us")) == "orders in us"


# -- the functions ----------------------------------------------------------------------------


def at_once(name: str) -> Region:
    return Region("eu" if name == "eu" else "us")


async def later(name: str) -> Form[Region]:
    return Form(f"Where should {name} live?", Region)


class Asker:
    def __call__(self, name: str) -> Form[Region]:
        return Form(f"Where should {name} live?", Region)

    async def method(self, name: str) -> Form[Region]:
        return self(name)


def with_greeting(greeting: str, name: str) -> Form[Region]:
    return Form(f"{greeting} {name} live?", Region)


def waited_for(name: str) -> Awaitable[Form[Region]]:
    return later(name)


LAMBDA: Callable[[Any], object] = lambda name: Form(f"Where should {name} live?", Region)  # noqa: E731

WAYS: dict[str, Any] = {
    "async": later,
    "object": Asker(),
    "method": Asker().method,
    "partial": partial(with_greeting, "Where should"),
    "awaitable": waited_for,
    "lambda": LAMBDA,
}


@pytest.mark.parametrize("function", WAYS.values(), ids=WAYS)
async def test_whatever_can_be_called_may_ask(function: Any) -> None:
    async def made(name: str, region: Annotated[Region, Ask(function)]) -> str:
        return f"{name} in {region.name}"

    peer = with_tools(made)
    step = await peer.call("made", {"name": "orders"})
    assert message(step, "region") == "Where should orders live?"
    assert await finished(peer, "made", step, region=EU) == "orders in eu"


def message(step: dict[str, Any], name: str) -> Any:
    return step["inputRequests"][name]["params"]["message"]


async def further(peer: Peer, name: str, step: dict[str, Any], **responses: Any) -> dict[str, Any]:
    """The next round of a call with the arguments of these tests."""
    return await peer.call(
        name, {"name": "orders"}, state=step["requestState"], responses=responses
    )


async def finished(peer: Peer, name: str, step: dict[str, Any], **responses: Any) -> str:
    result = await further(peer, name, step, **responses)
    assert (result["resultType"], result.get("isError", False)) == ("complete", False), result
    return text_of(result)


async def test_a_value_needs_no_question() -> None:
    async def made(name: str, region: Annotated[Region, Ask(at_once)]) -> str:
        return f"{name} in {region.name}"

    assert text_of(await with_tools(made).call("made", {"name": "eu"})) == "eu in eu"


async def test_anything_may_be_given_as_a_value() -> None:
    service = object()

    async def made(name: str, any_: Annotated[object, Ask(lambda: service)]) -> None: ...

    async def used(name: str, it: Annotated[int | None, Ask(lambda: None)]) -> str:
        return f"{name} {it}"

    with pytest.raises(TypeError, match="neither object nor its function"):
        with_tools(made)
    assert text_of(await with_tools(used).call("used", {"name": "a"})) == "a None"


async def test_a_function_takes_arguments_other_parameters_and_the_call_by_name() -> None:
    def sure(
        size: Size, at: Call[Any], name: str, *, region: Region, extra: str = "!"
    ) -> Form[Sure]:
        return Form(f"{name} {region.name} {size.rows} {at.round}{extra}", Sure)

    def by_name(call: Any, region: Any) -> Size:
        return Size(call.round * (1 if region.name == "eu" else 2))

    async def made(
        name: str,
        sure: Annotated[Sure, Ask(sure)],
        size: Annotated[Size, Ask(by_name)],
        region: Annotated[Region, Ask("Where?")],
        at: Call[Any],
    ) -> str:
        return f"{sure.sure} {size.rows} {region.name} {at.round}"

    peer = with_tools(made)
    step = await peer.call("made", {"name": "orders"})
    step = await further(peer, "made", step, region=accept(name="us"))
    assert message(step, "sure") == "orders us 4 2!"
    # The size is no answer: it is made again, in the third round.
    step = await further(peer, "made", step)
    assert message(step, "sure") == "orders us 6 3!"
    step = await further(peer, "made", step, sure=YES)
    # So this answer came to another question.
    assert message(step, "sure") == "orders us 8 4!"


async def test_the_call_can_be_taken_by_the_name_that_the_tool_gives_it() -> None:
    async def made(
        name: str, at: Call[Any], asked: Annotated[int, Ask(lambda at: at.round)]
    ) -> str:
        return f"{name} {asked}"

    assert text_of(await with_tools(made).call("made", {"name": "a"})) == "a 1"


async def test_an_argument_that_is_named_call_is_what_the_function_takes() -> None:
    async def made(call: str, said: Annotated[str, Ask(lambda call: call.upper())]) -> str:
        return said

    assert text_of(await with_tools(made).call("made", {"call": "alice"})) == "ALICE"


async def test_what_else_stands_in_annotated_does_not_matter() -> None:
    async def made(region: Annotated[Region, Meta(description="?"), Ask("Where?"), "note"]) -> str:
        return region.name

    result = await with_tools(made).call("made", responses={"region": EU})
    assert text_of(result) == "eu"


# -- every kind of question -------------------------------------------------------------------

EVERY_ANSWER: dict[str, Any] = {
    "region": EU,
    "consent": {"action": "accept"},
    "said": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "SAFE"}},
    "roots": {"roots": [{"uri": "file:///a", "name": "a"}, {"uri": "file:///b"}]},
}


def after_all(
    region: Region, consent: Consent, said: Sampled, roots: tuple[Root, ...]
) -> Form[Sure]:
    return Form(f"{region} {said.text}", Sure)


async def everything(
    name: str,
    region: Annotated[Region, Ask("Where?")],
    consent: Annotated[Consent, Ask(lambda: Link("Sign in.", "https://example.org"))],
    said: Annotated[Sampled, Ask(lambda name: Sample(f"Is {name} safe?"))],
    roots: Annotated[tuple[Root, ...], Ask(lambda: ListRoots())],
    last: Annotated[Sure, Ask(after_all)],
) -> str:
    return f"{region.name} {consent} {said.text} {[root.uri for root in roots]} {last.sure}"


async def test_every_kind_of_question_can_be_asked_in_one_round() -> None:
    peer = with_tools(everything)
    step = await peer.call("everything", {"name": "orders"})
    methods = {key: request["method"] for key, request in step["inputRequests"].items()}
    assert methods == {
        "region": "elicitation/create",
        "consent": "elicitation/create",
        "said": "sampling/createMessage",
        "roots": "roots/list",
    }
    step = await further(peer, "everything", step, **EVERY_ANSWER)
    assert asked(step) == ["last"]
    assert message(step, "last") == "Region(name='eu') SAFE"
    text = await finished(peer, "everything", step, last=YES)
    assert text == "eu Consent() SAFE ['file:///a', 'file:///b'] yes"


async def test_a_form_whose_choices_are_known_at_run_time_is_read_again_in_later_rounds() -> None:
    @frozen
    class Zone:
        name: str

    def zone() -> Form[Zone]:
        return Form("Which zone?", Zone, choices={"name": ["a", "b"]})

    def sure(zone: Zone) -> Form[Sure]:
        return Form(f"{zone.name}?", Sure)

    async def made(
        name: str, zone: Annotated[Zone, Ask(zone)], sure: Annotated[Sure, Ask(sure)]
    ) -> str:
        return f"{zone.name} {sure.sure}"

    peer = with_tools(made)
    step = await peer.call("made", {"name": "orders"})
    assert "The last answer" in message(
        await further(peer, "made", step, zone=accept(name="c")), "zone"
    )
    step = await further(peer, "made", step, zone=accept(name="b"))
    assert message(step, "sure") == "b?"
    assert await finished(peer, "made", step, sure=YES) == "b yes"


async def test_a_parameter_may_be_answered_in_several_ways() -> None:
    def either(name: str) -> Form[Region] | Form[Size] | None:
        forms: dict[str, Any] = {"r": Form("Region?", Region), "s": Form("Size?", Size)}
        return forms.get(name)

    def then(it: Any) -> Form[Sure]:
        return Form(f"{it}?", Sure)

    async def made(
        name: str,
        it: Annotated[Region | Size | None, Ask(either)],
        sure: Annotated[Sure, Ask(then)],
    ) -> str:
        return f"{it}"

    for name, answer, text in (
        ("r", EU, "Region(name='eu')"),
        ("s", accept(rows=3), "Size(rows=3)"),
        ("", None, "None"),
    ):
        peer = with_tools(made)
        step = await peer.call("made", {"name": name})
        if answer is not None:
            more: Any = {"state": step["requestState"], "responses": {"it": answer}}
            step = await peer.call("made", {"name": name}, **more)
        more = {"state": step["requestState"], "responses": {"sure": YES}}
        assert text_of(await peer.call("made", {"name": name}, **more)) == text


# -- what goes wrong --------------------------------------------------------------------------


async def test_a_function_tells_the_model_by_a_tool_error() -> None:
    def full(name: str) -> Region:
        raise ToolError(f"No region has room for {name}.")

    async def made(name: str, region: Annotated[Region, Ask(full)]) -> None: ...

    result = await with_tools(made).call("made", {"name": "orders"})
    assert told(result) == "No region has room for orders."


async def failing(name: str) -> Region:
    raise LookupError(f"secret {name}")


async def asks_for_another(name: str) -> Any:
    return Form("How large?", Size)


async def asks_by_hand(name: str) -> Any:
    return InputRequired({"x": Form("How large?", Size)})


@pytest.mark.parametrize(
    ("function", "logged"),
    [
        (failing, "secret orders"),
        (asks_for_another, "parameter 'region' gave a Form whose answer the parameter does not"),
        (asks_by_hand, "parameter 'region' gave a InputRequired whose answer"),
    ],
)
async def test_any_other_fault_of_a_function_is_logged_and_masked(
    function: Any, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def made(name: str, region: Annotated[Region, Ask(function)]) -> None: ...

    result = await with_tools(made).call("made", {"name": "orders"})
    assert told(result) == "made failed because of an error in the server. It has been logged."
    assert logged in caplog.text


async def test_asking_by_hand_as_well_is_an_error_at_the_call(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def made(name: str, region: Annotated[Region, Ask("Where?")]) -> Any:
        return InputRequired({"x": Form("How large?", Size)})

    result = await with_tools(made).call("made", {"name": "orders"}, responses={"region": EU})
    assert told(result) == "made failed because of an error in the server. It has been logged."
    assert "'made' has Ask parameters and returned InputRequired" in caplog.text


@pytest.mark.parametrize("end", [Done("done"), Failed("failed")])
async def test_a_function_may_say_how_it_ends(end: Done[str] | Failed) -> None:
    async def made(region: Annotated[Region, Ask("Where?")]) -> Done[str] | Failed:
        return end

    result = await with_tools(made).call("made", responses={"region": EU})
    assert text_of(result) == ("done" if isinstance(end, Done) else "failed")
    assert members(result).get("isError", False) is isinstance(end, Failed)


@pytest.mark.parametrize("state", ["", "x", "a1.AAAA"])
async def test_a_state_of_nobody_is_refused(state: str) -> None:
    refusal = await with_tools(create).refused("create", {"name": "orders"}, state=state)
    assert (refusal.code, refusal.message) == (-32602, "Invalid or expired requestState")
