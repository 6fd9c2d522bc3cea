"""A call over several rounds: which answers count, and what is asked again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon import Limits
from antiphon.engine.jsonrpc import JsonObject, JsonValue
from tests.engine.peer import CANCEL, DECLINE, accept, asked, text_of, told
from tests.engine.rounds import INK, RED, YES, both, to_confirming
from tests.engine.test_json_door import JSON
from tests.engine.tools import Both, Everything, Order, Shop, serving

# -- the whole way ----------------------------------------------------------------------------


async def test_a_flow_over_three_rounds() -> None:
    shop = Shop()
    peer = serving(Order(shop))
    first = await peer.call("order", INK)
    assert first["resultType"] == "input_required"
    assert first["inputRequests"] == {
        "choosing_colour": {
            "method": "elicitation/create",
            "params": {
                "mode": "form",
                "message": "Which colour for 2 ink?",
                "requestedSchema": {
                    "type": "object",
                    "properties": {"name": {"type": "string", "minLength": 1}},
                    "required": ["name"],
                },
            },
        }
    }
    second = await peer.call(
        "order", INK, state=first["requestState"], responses={"choosing_colour": RED}
    )
    assert asked(second) == ["confirming"]
    assert second["requestState"] != first["requestState"]
    last = await peer.call(
        "order", INK, state=second["requestState"], responses={"confirming": YES}
    )
    assert last["resultType"] == "complete"
    assert last["structuredContent"] == {"item": "ink", "count": 2, "colour": "red"}
    assert [call.round for call in shop.calls] == [1, 2, 3]
    assert len({call.flow_id for call in shop.calls}) == 1
    assert len(shop.ordered) == 1


async def test_two_calls_never_share_a_flow_id() -> None:
    shop = Shop()
    peer = serving(Order(shop))
    for _ in range(20):
        await peer.call("order", INK)
    assert len({call.flow_id for call in shop.calls}) == 20


async def test_a_round_asks_one_thing_and_says_nothing_else() -> None:
    first = await serving(Order()).call("order", INK)
    assert set(first) == {"resultType", "requestState", "inputRequests", "_meta"}


async def test_a_state_may_be_answered_again_from_where_it_was_kept() -> None:
    peer = serving(Order(shop := Shop()))
    second = await to_confirming(peer)
    for _ in range(2):
        last = await peer.call(
            "order", INK, state=second["requestState"], responses={"confirming": YES}
        )
        assert last["resultType"] == "complete"
    assert len(shop.ordered) == 2


async def test_any_server_with_the_key_takes_the_next_round() -> None:
    second = await to_confirming(serving(Order()))
    fresh = serving(Order(shop := Shop()))
    last = await fresh.call(
        "order", INK, state=second["requestState"], responses={"confirming": YES}
    )
    assert last["resultType"] == "complete"
    assert [call.round for call in shop.calls] == [3]


# -- answers in the opening request -----------------------------------------------------------


async def test_the_first_question_may_be_answered_in_the_opening_request() -> None:
    result = await serving(Order()).call("order", INK, responses={"choosing_colour": RED})
    assert asked(result) == ["confirming"]


async def test_only_the_first_question_may_be_answered_so() -> None:
    responses = {"choosing_colour": RED, "confirming": YES}
    result = await serving(Order(shop := Shop())).call("order", INK, responses=responses)
    assert asked(result) == ["confirming"]
    assert shop.ordered == []


async def test_a_refusal_may_come_in_the_opening_request() -> None:
    result = await serving(Order()).call("order", INK, responses={"choosing_colour": DECLINE})
    assert "declined" in told(result)


async def test_an_opening_answer_of_no_use_is_asked_for_again_with_the_reason() -> None:
    result = await serving(Order()).call(
        "order", INK, responses={"choosing_colour": accept(name="")}
    )
    assert asked(result) == ["choosing_colour"]
    message = result["inputRequests"]["choosing_colour"]["params"]["message"]
    assert message == (
        "Which colour for 2 ink?\n\nThe last answer cannot be used: name: the answer is shorter "
        "than 1 character."
    )


# -- answers that do not count ----------------------------------------------------------------

NO_ANSWER: list[JsonValue] = [
    None,
    {},
    {"unasked": RED},
    {"choosing_colour": 12345},
    {"choosing_colour": None},
    {"choosing_colour": []},
    {"choosing_colour": "accept"},
    {"choosing_colour": {}},
    {"choosing_colour": {"content": {"name": "red"}}},
    {"choosing_colour": {"action": "maybe"}},
    {"choosing_colour": {"roots": []}},
    {"Choosing_Colour": RED},
]


@pytest.mark.parametrize("responses", NO_ANSWER)
async def test_missing_and_malformed_answers_are_asked_for_again(responses: JsonValue) -> None:
    peer = serving(Order())
    first = await peer.call("order", INK)
    for state in (first["requestState"], None):
        again = await peer.call("order", INK, state=state, responses=responses)
        assert again["inputRequests"] == first["inputRequests"]
        last = await peer.call(
            "order", INK, state=again["requestState"], responses={"choosing_colour": RED}
        )
        assert asked(last) == ["confirming"]


@pytest.mark.parametrize("responses", [[], "x", 5, True])
async def test_responses_that_are_no_object_are_a_protocol_error(responses: JsonValue) -> None:
    peer = serving(Order())
    first = await peer.call("order", INK)
    refusal = await peer.refused("order", INK, state=first["requestState"], responses=responses)
    assert refusal.code == -32602
    assert "inputResponses" in refusal.message


async def test_unknown_keys_are_ignored() -> None:
    peer = serving(Order())
    first = await peer.call("order", INK)
    responses: JsonObject = {"choosing_colour": RED, "other": 5, "confirming": YES, "": None}
    second = await peer.call("order", INK, state=first["requestState"], responses=responses)
    assert asked(second) == ["confirming"]


async def test_a_flood_of_answers_is_refused() -> None:
    peer = serving(Order(), limits=Limits(questions=2))
    flood: JsonObject = {f"k{number}": RED for number in range(9)}
    refusal = await peer.refused("order", INK, responses=flood)
    assert refusal.code == -32602
    assert "limit questions" in refusal.message
    flood.pop("k0")
    assert asked(await peer.call("order", INK, responses=flood)) == ["choosing_colour"]


async def test_an_answer_to_another_rounds_question_does_not_count() -> None:
    peer = serving(Order())
    second = await to_confirming(peer)
    again = await peer.call(
        "order", INK, state=second["requestState"], responses={"choosing_colour": RED}
    )
    assert asked(again) == ["confirming"]


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), JSON, max_size=3))
async def test_no_responses_break_the_server(responses: JsonObject) -> None:
    peer = serving(Both())
    first = await peer.call("both")
    for state in (None, first["requestState"]):
        again = await peer.call("both", state=state, responses=responses)
        assert again["resultType"] in ("complete", "input_required")
        assert "error in the server" not in str(again)


# -- answers of every kind --------------------------------------------------------------------


@pytest.mark.parametrize(
    "extra", [{}, {"resultType": "complete"}, {"_meta": {}}, {"content": None}]
)
@pytest.mark.parametrize(("response", "word"), [(DECLINE, "declined"), (CANCEL, "closed")])
async def test_a_bare_refusal_is_a_refusal(
    response: JsonObject, word: str, extra: JsonObject
) -> None:
    peer = serving(Order(shop := Shop()))
    first = await peer.call("order", INK)
    result = await peer.call(
        "order",
        INK,
        state=first["requestState"],
        responses={"choosing_colour": {**extra, **response}},
    )
    assert word in told(result)
    assert shop.ordered == []


SAID: JsonObject = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Hi"}}


@pytest.mark.parametrize("extra", [{}, {"resultType": "complete", "_meta": {"a": 1}}])
async def test_sampling_roots_and_links_are_answered_in_one_round(extra: JsonObject) -> None:
    peer = serving(Everything())
    first = await peer.call("everything")
    assert asked(first) == ["said", "roots", "link"]
    responses: JsonObject = {
        "said": {**SAID, **extra},
        "roots": {"roots": [{"uri": "file:///a"}], **extra},
        "link": {"action": "accept", **extra},
    }
    for state in (first["requestState"], None):
        last = await peer.call("everything", state=state, responses=responses)
        assert last["structuredContent"] == ["Hi", "file:///a"]


async def test_empty_roots_are_an_answer() -> None:
    responses: JsonObject = {"said": SAID, "roots": {"roots": []}, "link": {"action": "accept"}}
    last = await serving(Everything()).call("everything", responses=responses)
    assert last["structuredContent"] == ["Hi"]


# -- several questions ------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("b", "a")])
async def test_of_two_questions_only_the_one_that_is_open_is_asked_again(
    first: str, second: str
) -> None:
    answers = {"a": RED, "b": YES}
    peer = serving(Both())
    opened = await peer.call("both")
    assert asked(opened) == ["a", "b"]
    half = await both(peer, opened["requestState"], {first: answers[first]})
    assert asked(half) == [second]
    assert half["inputRequests"][second] == opened["inputRequests"][second]
    whole = await both(peer, half["requestState"], {second: answers[second]})
    assert text_of(whole) == "red yes"


async def test_an_answer_that_was_kept_cannot_be_replaced() -> None:
    peer = serving(Both())
    opened = await peer.call("both")
    half = await both(peer, opened["requestState"], {"a": RED})
    whole = await both(peer, half["requestState"], {"a": accept(name="blue"), "b": YES})
    assert text_of(whole) == "red yes"


async def test_an_answer_is_kept_over_any_number_of_rounds() -> None:
    peer = serving(Both())
    step = await both(peer, (await peer.call("both"))["requestState"], {"a": RED})
    for _ in range(3):
        step = await both(peer, step["requestState"], {"a": accept(name="blue")})
        assert asked(step) == ["b"]
    assert text_of(await both(peer, step["requestState"], {"b": YES})) == "red yes"


async def test_half_of_the_answers_may_come_in_the_opening_request() -> None:
    peer = serving(Both())
    half = await peer.call("both", responses={"b": YES})
    assert asked(half) == ["a"]
    whole = await both(peer, half["requestState"], {"a": RED})
    assert text_of(whole) == "red yes"


async def test_what_is_good_is_kept_while_the_other_is_of_no_use() -> None:
    peer = serving(Both())
    opened = await peer.call("both")
    again = await both(peer, opened["requestState"], {"a": RED, "b": accept(sure="perhaps")})
    assert asked(again) == ["b"]
    assert "cannot be used" in again["inputRequests"]["b"]["params"]["message"]
    assert text_of(await both(peer, again["requestState"], {"b": YES})) == "red yes"


@pytest.mark.parametrize("other", [{}, {"b": YES}, {"b": accept(sure="perhaps")}, {"b": CANCEL}])
async def test_one_declined_question_declines_them_all(other: JsonObject) -> None:
    peer = serving(Both())
    opened = await peer.call("both")
    result = await both(peer, opened["requestState"], {"a": DECLINE, **other})
    assert "declined" in told(result)


async def test_answers_of_no_use_take_the_edge_when_they_come_too_often() -> None:
    peer = serving(Both())
    step = await peer.call("both")
    for _ in range(2):
        step = await both(peer, step["requestState"], {"a": accept(name=""), "b": YES})
        assert asked(step) == ["a"]
    result = await both(peer, step["requestState"], {"a": accept(name="")})
    assert told(result) == "Hopeless: name: the answer is shorter than 1 character"


async def test_without_that_edge_the_call_ends_in_words_for_the_model() -> None:
    peer = serving(Order(), limits=Limits(unusable=1))
    wrong = {"choosing_colour": {"action": "accept"}}
    step = await peer.call("order", INK, responses=wrong)
    result = await peer.call("order", INK, state=step["requestState"], responses=wrong)
    assert told(result) == (
        'order: the answer could not be used ("name" is a required property), and was asked for '
        "again as often as limit unusable allows (Limits(unusable=...) raises it), so nothing more "
        "was done."
    )


async def test_a_good_answer_after_one_of_no_use_goes_on() -> None:
    peer = serving(Order())
    step = await peer.call("order", INK, responses={"choosing_colour": {"action": "accept"}})
    step = await peer.call(
        "order", INK, state=step["requestState"], responses={"choosing_colour": RED}
    )
    assert asked(step) == ["confirming"]
