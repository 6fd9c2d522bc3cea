"""Suggestions for arguments of prompts and variables of templates."""

import logging
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from antiphon import (
    Call,
    Complete,
    Completion,
    InputRequired,
    Limits,
    Meta,
    Principal,
    ProtocolError,
    Server,
    ToolError,
    UsageError,
)
from antiphon.engine.completion import Completer
from antiphon.engine.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
)
from antiphon.engine.jsonrpc import Failure, JsonObject, JsonValue
from tests.engine.offering import Essay, error_of, offering
from tests.engine.peer import Peer, members, meta

FRAMEWORKS = {"python": ["flask", "django"], "ruby": ["rails"]}


class Size(Enum):
    SMALL = "Small"
    LARGE = "Large"


async def frameworks(value: str, others: Mapping[str, str]) -> Sequence[str]:
    of_language = FRAMEWORKS.get(others.get("language", ""), [])
    return [framework for framework in of_language if framework.startswith(value)]


def suggesting(suggest: Completer | None = None) -> Peer:
    server = offering()

    @server.prompt
    async def build(
        language: Literal["python", "ruby", "Perl"],
        framework: Annotated[str, Meta(description="Which"), Complete(suggest or frameworks)],
        size: Size = Size.SMALL,
        note: str | None = None,
        maybe: Annotated[str, Complete(frameworks)] | None = None,
    ) -> str:
        return ""

    @server.resource_template("doc://{language}/{framework}")
    async def doc(
        language: Annotated[str, Complete(options_of_languages)],
        framework: Annotated[str, Complete(frameworks)],
    ) -> str:
        return ""

    server.resource_template("essay://{animal}", Essay())
    return Peer(server)


async def options_of_languages(value: str, _: Mapping[str, str]) -> list[str]:
    return [language for language in FRAMEWORKS if value in language]


async def echo(value: str, _: Mapping[str, str]) -> list[str]:
    return [value]


PROMPT: JsonObject = {"type": "ref/prompt", "name": "build"}
DOC: JsonObject = {"type": "ref/resource", "uri": "doc://{language}/{framework}"}


def wanting(ref: JsonObject, argument: str, value: str, **others: JsonValue) -> JsonObject:
    params: JsonObject = {"ref": ref, "argument": {"name": argument, "value": value}}
    return {**params, "context": {"arguments": {**others}}} if others else params


async def suggested(
    peer: Peer, ref: JsonObject, argument: str, value: str = "", **others: JsonValue
) -> dict[str, Any]:
    result = await peer.ask("completion/complete", wanting(ref, argument, value, **others))
    assert result["resultType"] == "complete"
    return members(result["completion"])


async def refusal(peer: Peer, params: JsonObject) -> Failure:
    return await error_of(peer, "completion/complete", params)


# -- where suggestions come from --------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "value", "values"),
    [
        ("language", "", ["python", "ruby", "Perl"]),
        ("language", "p", ["python", "Perl"]),
        ("language", "PY", ["python"]),
        ("language", "x", []),
        ("size", "", ["Small", "Large"]),
        ("size", "l", ["Large"]),
        ("note", "", []),
        ("no such argument", "", []),
    ],
)
async def test_a_choice_suggests_its_own_options(
    argument: str, value: str, values: list[str]
) -> None:
    completion = await suggested(suggesting(), PROMPT, argument, value)
    assert completion == {"values": values, "hasMore": False}


@pytest.mark.parametrize("argument", ["framework", "maybe"])
async def test_a_completer_sees_what_is_filled_in_already(argument: str) -> None:
    peer = suggesting()
    found = await suggested(peer, PROMPT, argument, "fl", language="python", size="Large")
    assert found["values"] == ["flask"]
    assert (await suggested(peer, PROMPT, argument, language="ruby"))["values"] == ["rails"]
    assert (await suggested(peer, PROMPT, argument))["values"] == []


async def test_variables_of_a_template_are_suggested() -> None:
    peer = suggesting()
    assert (await suggested(peer, DOC, "language", "y"))["values"] == ["python", "ruby"]
    found = await suggested(peer, DOC, "framework", "", language="ruby")
    assert found["values"] == ["rails"]


async def test_the_choices_of_a_flow_are_suggested() -> None:
    essay: JsonObject = {"type": "ref/resource", "uri": "essay://{animal}"}
    assert (await suggested(suggesting(), essay, "animal", "d"))["values"] == ["dogs"]


# -- how many ---------------------------------------------------------------------------------


def numbers(count: int) -> list[str]:
    return [str(number) for number in range(count)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], {"values": [], "hasMore": False}),
        (("a", "b"), {"values": ["a", "b"], "hasMore": False}),
        (numbers(100), {"values": numbers(100), "hasMore": False}),
        (numbers(101), {"values": numbers(100), "hasMore": True, "total": 101}),
        (Completion(["a"], total=7), {"values": ["a"], "hasMore": True, "total": 7}),
        (Completion(["a"], total=1), {"values": ["a"], "hasMore": False, "total": 1}),
        (Completion(["a"], has_more=True), {"values": ["a"], "hasMore": True}),
        (
            Completion(numbers(300), total=5000),
            {"values": numbers(100), "hasMore": True, "total": 5000},
        ),
        (Completion(), {"values": [], "hasMore": False}),
    ],
)
async def test_at_most_a_hundred_values_are_sent(
    given: Sequence[str] | Completion, expected: JsonObject
) -> None:
    async def suggest(value: str, others: Mapping[str, str]) -> Sequence[str] | Completion:
        return given

    assert await suggested(suggesting(suggest), PROMPT, "framework") == expected


@given(
    values=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=150),
    unnamed=st.none() | st.integers(0, 10_000),
    has_more=st.booleans(),
)
async def test_what_is_left_out_is_always_told(
    values: list[str], unnamed: int | None, has_more: bool
) -> None:
    total = None if unnamed is None else len(values) + unnamed

    async def suggest(_: str, __: Mapping[str, str]) -> Completion:
        return Completion(values, total, has_more)

    found = await suggested(suggesting(suggest), PROMPT, "framework")
    assert found["values"] == values[:100]
    left_out = has_more or len(values) > 100 or (total or 0) > len(values)
    assert found["hasMore"] is left_out


# -- what a client may send -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"argument": {"name": "a", "value": ""}}, "ref"),
        ({"ref": {**PROMPT}}, "argument"),
        ({"ref": "build", "argument": {"name": "a", "value": ""}}, "ref"),
        (wanting({"type": "ref/tool", "name": "x"}, "a", ""), "ref.type must be"),
        (wanting({"name": "build"}, "a", ""), "ref.type must be"),
        (wanting({"type": "ref/prompt"}, "a", ""), "ref.name must be a string"),
        (wanting({"type": "ref/prompt", "uri": "x"}, "a", ""), "ref.name must be a string"),
        (wanting({"type": "ref/resource", "name": "x"}, "a", ""), "ref.uri must be a string"),
        ({"ref": {**PROMPT}, "argument": {"name": "a"}}, "argument.value must be a string"),
        ({"ref": {**PROMPT}, "argument": {"value": "a"}}, "argument.name must be a string"),
        (wanting(PROMPT, "language", "x" * 4097), "argument.value has 4097 characters; limit"),
        (wanting(PROMPT, "language", "", size=5), "context.arguments.size must be a string"),
        (wanting(PROMPT, "language", "", size="x" * 5000), "limit completion_bytes is 4096 ("),
        (wanting({"type": "ref/prompt", "name": "x" * 4097}, "a", ""), "completion_bytes"),
        (wanting({"type": "ref/resource", "uri": "x" * 8193}, "a", ""), "limit uri_bytes is 8192"),
        ({**wanting(PROMPT, "language", ""), "context": {"arguments": []}}, "context.arguments"),
        ({**wanting(PROMPT, "language", ""), "context": []}, "context"),
    ],
)
async def test_parameters_that_are_malformed_are_refused(params: JsonObject, words: str) -> None:
    error = await refusal(suggesting(), params)
    assert error.code == INVALID_PARAMS
    assert words in error.message


@pytest.mark.parametrize("context", [{}, {"arguments": {}}, None])
async def test_a_context_may_be_empty(context: JsonValue) -> None:
    params = {**wanting(PROMPT, "language", "ru"), "context": context}
    result = await suggesting().ask("completion/complete", params)
    assert result["completion"]["values"] == ["ruby"]


@pytest.mark.parametrize(
    ("ref", "words"),
    [
        ({"type": "ref/prompt", "name": "biuld"}, "Unknown prompt: biuld"),
        ({"type": "ref/resource", "uri": "doc://x"}, "Unknown resource template: doc://x"),
        ({"type": "ref/resource", "uri": "x" * 4000}, "Unknown resource template: xxx"),
    ],
)
async def test_what_is_not_offered_is_invalid_params(ref: JsonObject, words: str) -> None:
    error = await refusal(suggesting(), wanting(ref, "language", ""))
    assert error.code == INVALID_PARAMS
    assert error.message.startswith(words)
    assert len(error.message) < 200


async def test_where_nothing_suggests_there_is_no_completion() -> None:
    server = offering()

    @server.prompt
    async def plain(text: str) -> str:
        return text

    peer = Peer(server)
    assert "completions" not in (await peer.ask("server/discover"))["capabilities"]
    plain_ref: JsonObject = {"type": "ref/prompt", "name": "plain"}
    assert (await refusal(peer, wanting(plain_ref, "text", ""))).code == METHOD_NOT_FOUND
    server.resource_template("essay://{animal}", Essay())
    assert (await peer.ask("server/discover"))["capabilities"]["completions"] == {}
    assert (await suggested(peer, plain_ref, "text"))["values"] == []


# -- completers that fail ---------------------------------------------------------------------


def wrong(outcome: object) -> Any:
    async def suggest(value: str, others: Mapping[str, str]) -> object:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return suggest


@pytest.mark.parametrize(
    "outcome",
    [
        ValueError("secret 1"),
        ProtocolError(-32000, "secret 3"),
        ExceptionGroup("secret 4", [ValueError("secret 5")]),
        "secret 6",
        None,
        [1, 2],
        ["a", None],
        Completion("secret 7"),
        ["half \ud800"],
        InputRequired({}, state=1),
    ],
)
async def test_what_is_not_expected_is_masked_and_logged(
    outcome: object, caplog: pytest.LogCaptureFixture
) -> None:
    peer = suggesting(wrong(outcome))
    error = await refusal(peer, wanting(PROMPT, "framework", "typed"))
    assert error.code == INTERNAL_ERROR
    assert error.message == (
        "There are no suggestions because of an error in the server. It has been logged."
    )
    assert error.data is None
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.getMessage() == "The completer of argument 'framework' of 'build' failed"
    assert record.exc_info
    assert (await suggested(peer, PROMPT, "size", "s"))["values"] == ["Small"]


@pytest.mark.parametrize(
    "error",
    [ToolError("Authors are secret"), ExceptionGroup("", [ToolError("Authors are secret")])],
)
async def test_a_tool_error_is_told(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    refused = await refusal(suggesting(wrong(error)), wanting(PROMPT, "framework", ""))
    assert (refused.code, refused.message) == (INTERNAL_ERROR, "Authors are secret")
    assert not caplog.records


async def test_a_tool_error_reaches_the_client_whatever_it_says() -> None:
    peer = suggesting(wrong(ToolError("half \ud800")))
    assert (await refusal(peer, wanting(PROMPT, "framework", ""))).message == "half ?"


async def test_a_completer_may_require_capabilities(caplog: pytest.LogCaptureFixture) -> None:
    async def suggest(value: str, others: Mapping[str, str], call: Call) -> list[str]:
        call.require({"sampling": {}})
        return ["flask"]

    peer = suggesting(suggest)
    assert (await suggested(peer, PROMPT, "framework"))["values"] == ["flask"]
    peer.capabilities = {}
    params: JsonObject = {**wanting(PROMPT, "framework", ""), "_meta": meta({})}
    refused = await refusal(peer, params)
    assert refused.code == MISSING_CAPABILITY
    assert refused.data == {"requiredCapabilities": {"sampling": {}}}
    assert not caplog.records


async def test_what_can_be_read_can_be_completed() -> None:
    long: JsonObject = {"type": "ref/resource", "uri": "doc://python/" + "x" * 5000}
    assert (await suggested(suggesting(), long, "language", "ru"))["values"] == ["ruby"]


async def test_how_much_may_be_typed_is_a_limit() -> None:
    server = Server("Long", limits=Limits(completion_bytes=5000))

    @server.prompt
    async def build(name: Annotated[str, Complete(echo)]) -> str:
        return name

    typed = "x" * 5000
    assert (await suggested(Peer(server), PROMPT, "name", typed))["values"] == [typed]


@pytest.mark.parametrize("suggest", [None, 5, "text", ["a"], sorted])
def test_a_completer_that_is_no_async_function_is_refused(suggest: Any) -> None:
    with pytest.raises(UsageError, match=r"Complete\(\.\.\.\) takes an `async def"):
        Complete(suggest)


async def test_an_object_may_be_a_completer() -> None:
    class Names:
        async def __call__(self, value: str, others: Mapping[str, str]) -> list[str]:
            return [value + "!"]

    assert (await suggested(suggesting(Names()), PROMPT, "framework", "x"))["values"] == ["x!"]


async def test_a_completer_that_takes_too_long_is_ended(
    autojump_clock: object, caplog: pytest.LogCaptureFixture
) -> None:
    async def suggest(value: str, others: Mapping[str, str]) -> list[str]:
        await trio.sleep_forever()
        raise AssertionError

    peer = suggesting(suggest)
    start = trio.current_time()
    error = await refusal(peer, wanting(PROMPT, "framework", ""))
    assert trio.current_time() - start == Limits().handler_seconds
    assert "longer than 300 seconds, which is limit handler_seconds" in error.message
    assert "The completer of argument 'framework' of 'build' passed limit" in caplog.text


async def test_a_completer_may_look_at_who_asks() -> None:
    async def suggest(value: str, others: Mapping[str, str], call: Call[object]) -> list[str]:
        return ["nobody" if call.principal is None else call.principal.client]

    peer = suggesting(suggest)
    assert (await suggested(peer, PROMPT, "framework", ""))["values"] == ["nobody"]
    peer.principal = Principal("host")
    assert (await suggested(peer, PROMPT, "framework", ""))["values"] == ["host"]


async def test_a_template_is_named_by_one_of_its_uris_too_and_a_resource_suggests_nothing() -> None:
    server = Server("Files")

    @server.resource_template("doc://{kind}")
    async def doc(kind: Literal["memo", "letter"]) -> str:
        return kind

    @server.resource("plain://one")
    async def one() -> str:
        return "one"

    peer = Peer(server)
    by_uri: JsonObject = {"type": "ref/resource", "uri": "doc://memo"}
    assert (await suggested(peer, by_uri, "kind", "l"))["values"] == ["letter"]
    static: JsonObject = {"type": "ref/resource", "uri": "plain://one"}
    assert (await suggested(peer, static, "kind", "l"))["values"] == []


async def test_a_server_that_suggested_once_says_so_for_good() -> None:
    server = Server("Files")

    @server.prompt
    async def doc(kind: Literal["memo", "letter"]) -> str:
        return kind

    assert "completions" in server.capabilities()
    server.prompts.remove("doc")
    assert "completions" in server.capabilities()
