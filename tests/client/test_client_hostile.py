"""A server that breaks the rules: a named error, nothing sent, nobody asked."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.engine.asked import Accept, FormRequest, UrlRequest
from antiphon.engine.asked_deprecated import SamplingRequest
from antiphon.engine.call_errors import QuestionRefused, ServerError, VersionMismatch
from antiphon.engine.errors import InvalidReply
from antiphon.engine.exchange import TransportLost
from antiphon.engine.jsonrpc import Failure
from tests.client.scripted import (
    REGION,
    ROOTS,
    accept_prod,
    asks,
    client_of,
    done,
    form,
    link,
    sampling,
)


class Person:
    """Answers forms and links, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self, question: FormRequest | UrlRequest) -> Accept:
        self.asked += 1
        return Accept({"name": "dev"} if isinstance(question, FormRequest) else None)


@pytest.mark.parametrize("kind", ["task", "INPUT_REQUIRED", "", 3, None, ["complete"], {}, True])
async def test_an_unknown_result_type_is_an_invalid_reply(kind: object) -> None:
    client, server = client_of({**done(), "resultType": kind}, elicitation=accept_prod)  # type: ignore[dict-item]
    with pytest.raises(InvalidReply, match="a type that this client does not know"):
        await client.call_tool("t")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "result",
    [
        {"resultType": "input_required"},
        {"resultType": "input_required", "inputRequests": {}},
        {"resultType": "input_required", "requestState": None},
        {"resultType": "input_required", "content": [{"type": "text", "text": "x"}]},
    ],
)
async def test_an_interim_result_with_neither_questions_nor_state_is_invalid(
    result: dict[str, Any],
) -> None:
    client, _ = client_of(result)
    with pytest.raises(InvalidReply, match="neither questions nor state"):
        await client.call_tool("t")


@pytest.mark.parametrize(
    "result",
    [
        {"resultType": "input_required", "requestState": 3},
        {"resultType": "input_required", "requestState": {"a": 1}},
        {"resultType": "input_required", "requestState": ["s"]},
        {"resultType": "input_required", "requestState": "s", "inputRequests": []},
        {"resultType": "input_required", "requestState": "s", "inputRequests": None},
        {"resultType": "input_required", "requestState": "s", "_meta": 3},
        {"resultType": "complete"},
        {"resultType": "complete", "content": "text"},
        {"resultType": "complete", "content": ["text"]},
        {"resultType": "complete", "content": [], "isError": "no"},
        {},
    ],
)
async def test_a_malformed_result_is_an_invalid_reply(result: dict[str, Any]) -> None:
    client, server = client_of(result)
    with pytest.raises(InvalidReply):
        await client.call_tool("t")
    assert len(server.requests) == 1


MALFORMED: dict[str, Any] = {
    "no object": "elicitation/create",
    "no method": {},
    "a method that no server may use": {"method": "tools/call", "params": {}},
    "a method that is no text": {"method": ["elicitation/create"]},
    "parameters that are a list": {"method": "elicitation/create", "params": []},
    "no parameters": {"method": "elicitation/create"},
    "no message": {"method": "elicitation/create", "params": {"requestedSchema": REGION}},
    "a message that is no text": form(message=3),  # type: ignore[arg-type]
    "no schema": {"method": "elicitation/create", "params": {"message": "m"}},
    "a schema that is no object": form(schema=[]),  # type: ignore[arg-type]
    "a schema of nested objects": form(
        schema={"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}
    ),
    "an unknown mode": form(mode="dialog"),
    "a mode that is no text": form(mode=1),
    "a mode that is null": form(mode=None),
    "a link without an address": {
        "method": "elicitation/create",
        "params": {"mode": "url", "message": "m"},
    },
    "a relative address": link("pay"),
    "an address without a host": link("https:///pay"),
    "an address that runs code": link("javascript:alert(1)"),
    "an address of a file": link("file:///etc/passwd"),
    "an address of data": link("data:text/html,x"),
    "an address with a space": link("https://example.com/a b"),
    "an address with a line break": link("https://example.com/\n@evil.example"),
    "an address with a broken host": link("https://[::1"),
    "an address whose host ends where only browsers see it": link(
        "https://evil.example\\@good.example/login"
    ),
    "an address with a backslash further on": link("https://good.example/a\\b"),
    "an address that is written from right to left": link("https://good.example/\u202emoc"),
    "an address with an isolated direction": link("https://good.example/\u2067moc"),
    "an address with an invisible character": link("https://go\u00adod.example/"),
    "an address with a blank of another kind": link("https://good.example/\u2003"),
    "an address with a line break of another kind": link("https://good.example/\u2028"),
    "an address whose host browsers decode": link("https://%65vil.example/"),
    "sampling without messages": sampling(messages=[]),
    "sampling with a message that is none": sampling(messages=["hi"]),
    "sampling with a role that is none": sampling(messages=[{"role": "system", "content": []}]),
    "sampling with content that is none": sampling(messages=[{"role": "user", "content": "hi"}]),
    "sampling without a bound": sampling(maxTokens=None),
    "sampling with a bound of zero": sampling(maxTokens=0),
    "sampling with a bound that is true": sampling(maxTokens=True),
}


@pytest.mark.parametrize("what", MALFORMED)
async def test_a_malformed_question_is_an_invalid_reply_and_nobody_is_asked(what: str) -> None:
    person = Person()

    async def sample(_: SamplingRequest) -> str:
        person.asked += 1
        return "x"

    interim = asks({"good": form(), "bad": MALFORMED[what]}, "s")
    client, server = client_of(interim, done(), elicitation=person, sampling=sample, roots=[])
    with pytest.raises(InvalidReply, match="'bad' of 't' of 'scripted' is malformed") as caught:
        await client.call_tool("t")
    assert (person.asked, len(server.requests)) == (0, 1)
    assert caught.value.interim is not None
    assert caught.value.interim.request_state == "s"


async def test_more_questions_than_the_limit_are_an_invalid_reply() -> None:
    person = Person()
    client, _ = client_of(asks({f"q{n}": form() for n in range(17)}), elicitation=person)
    with pytest.raises(InvalidReply, match="limit questions is 16"):
        await client.call_tool("t")
    assert person.asked == 0


@pytest.mark.parametrize(
    ("question", "kind"),
    [(form(), "form"), (link(), "url"), (sampling(), "sampling"), (ROOTS, "roots")],
)
async def test_a_question_of_an_undeclared_kind_is_refused(
    question: dict[str, Any], kind: str
) -> None:
    client, server = client_of(asks({"q": question}, "s"), done())
    with pytest.raises(QuestionRefused, match="nothing was sent") as caught:
        await client.call_tool("t")
    assert (caught.value.key, caught.value.kind, len(server.requests)) == ("q", kind, 1)
    assert caught.value.interim is not None


async def test_a_refused_kind_is_neither_declared_nor_answered_and_its_neighbours_not_asked() -> (
    None
):
    person = Person()
    client, server = client_of(
        asks({"f": form(), "u": link()}), done(), elicitation=person, refuse={"url"}
    )
    with pytest.raises(QuestionRefused) as caught:
        await client.call_tool("t")
    declared = server.params[0]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert declared == {"elicitation": {"form": {}}}
    assert (caught.value.kind, person.asked, len(server.requests)) == ("url", 0, 1)


@pytest.mark.parametrize("wish", [{"tools": []}, {"toolChoice": {"mode": "auto"}}])
async def test_sampling_with_tools_is_refused_as_undeclared(wish: dict[str, Any]) -> None:
    async def sample(_: SamplingRequest) -> str:
        return "x"

    client, _ = client_of(asks({"q": sampling(**wish)}), sampling=sample)
    with pytest.raises(QuestionRefused, match="the model is to call tools, which no client"):
        await client.call_tool("t")


async def test_a_question_without_a_mode_is_a_form_whatever_else_it_holds() -> None:
    seen: list[object] = []

    async def look(question: object) -> dict[str, str]:
        seen.append(question)
        return {"name": "dev"}

    interim = asks(
        {"a": form(), "b": form(mode="form", url="https://x.example", elicitationId="1")}
    )
    client, _ = client_of(interim, done(), elicitation=look)
    await client.call_tool("t")
    assert [type(question) for question in seen] == [FormRequest, FormRequest]


async def test_a_link_needs_no_id_and_tells_its_true_host() -> None:
    seen: list[UrlRequest] = []

    async def look(question: object) -> Accept:
        assert isinstance(question, UrlRequest)
        seen.append(question)
        return Accept()

    client, _ = client_of(
        asks({"a": link("https://bank.example@evil.example/pay?bank.example")}),
        done(),
        elicitation=look,
    )
    await client.call_tool("t")
    assert seen[0].host == "evil.example"
    assert seen[0].url == "https://bank.example@evil.example/pay?bank.example"


async def test_an_address_may_have_letters_of_any_script() -> None:
    seen: list[UrlRequest] = []

    async def look(question: object) -> Accept:
        assert isinstance(question, UrlRequest)
        seen.append(question)
        return Accept()

    client, _ = client_of(
        asks({"a": link("https://bücher.example/%E2%80%AE/straße?q=日本")}),
        done(),
        elicitation=look,
    )
    await client.call_tool("t")
    assert seen[0].host == "xn--bcher-kva.example"


async def test_a_question_says_who_asks_and_why() -> None:
    seen: list[FormRequest] = []

    async def look(question: object) -> dict[str, str]:
        assert isinstance(question, FormRequest)
        seen.append(question)
        return {"name": "dev"}

    info = {"io.modelcontextprotocol/serverInfo": {"name": "Provisioner", "version": "1"}}
    client, _ = client_of(
        asks({"a": form()}),
        asks({"a": form()}, _meta=info),
        asks({"a": form()}, _meta={"io.modelcontextprotocol/serverInfo": "nonsense"}),
        done(),
        elicitation=look,
    )
    await client.call_tool("provision")
    assert [question.server for question in seen] == ["scripted", "Provisioner", "Provisioner"]
    assert {(q.origin.via, q.target, q.origin.method) for q in seen} == {
        ("scripted", "provision", "tools/call")
    }
    assert client.name == "Provisioner"


@pytest.mark.parametrize("name", ["", "  ", "\u200b", "\u202e\u00ad\n", 3, None])
async def test_a_server_whose_name_nobody_can_read_goes_by_that_of_the_target(name: Any) -> None:
    seen: list[str] = []

    async def look(question: Any) -> dict[str, str]:
        seen.append(question.server)
        return {"name": "dev"}

    info: Any = {"io.modelcontextprotocol/serverInfo": {"name": name, "version": "1"}}
    client, _ = client_of(asks({"a": form()}, _meta=info), done(_meta=info), elicitation=look)
    await client.call_tool("t")
    assert (seen, client.name) == (["scripted"], "scripted")


async def test_an_endless_name_or_message_does_not_make_an_endless_error() -> None:
    long = "x" * 100_000
    info = {"io.modelcontextprotocol/serverInfo": {"name": long, "version": "1"}}
    client, _ = client_of(asks({long: {"method": "nonsense"}}, _meta=info), Failure(None, -1, long))
    for expected in (InvalidReply, ServerError):
        with pytest.raises(expected) as caught:
            await client.call_tool(long)
        assert len(str(caught.value)) < 5000


ESCAPES = "\x1b[2J\x1b]0;pwn\x07hel\u202elo\r\n\u2028WARN forged"


async def test_words_of_a_server_drive_no_terminal_and_forge_no_line_of_a_log() -> None:
    needed: Any = {"requiredCapabilities": {ESCAPES: {}}}
    for failure in (Failure(None, -1, ESCAPES), Failure(None, -32021, ESCAPES, needed)):
        client, _ = client_of(failure)
        with pytest.raises(ServerError, match=r"hel lo WARN forged") as caught:
            await client.call_tool("t")
        assert str(caught.value).isprintable()
        assert caught.value.message == ESCAPES


async def test_versions_that_a_server_names_drive_no_terminal() -> None:
    client, _ = client_of(Failure(None, -32022, "no", {"supported": [ESCAPES]}))
    with pytest.raises(VersionMismatch, match=r"the server speaks .*forged") as caught:
        await client.call_tool("t")
    assert str(caught.value).isprintable()
    assert caught.value.theirs == (ESCAPES,)


def test_last_words_of_a_child_drive_no_terminal_and_keep_their_lines() -> None:
    error = TransportLost("It died", sent=True, detail="first\x1b[2J\r\nla\u202est\x07\n")
    assert str(error) == "It died\nfirst [2J\nla st"
    assert (error.reason, error.detail) == ("It died", "first\x1b[2J\r\nla\u202est\x07\n")


async def test_a_refused_header_says_who_may_be_at_fault() -> None:
    client, _ = client_of(Failure(None, -32020, "Header mismatch"), {"tools": []})
    with pytest.raises(ServerError, match=r"Header mismatch .*changed the headers.*x-mcp-header"):
        await client.call_tool("t")


async def test_a_format_that_is_no_text_does_no_harm() -> None:
    odd: Any = {"type": "object", "properties": {"name": {"type": "string", "format": ["x"]}}}
    client, _ = client_of(asks({"q": form(schema=odd)}), done(), elicitation=accept_prod)
    assert (await client.call_tool("t")).text == "done"


async def test_a_form_that_swells_is_an_invalid_reply() -> None:
    values: Any = [f"value-{n}" for n in range(2000)]
    swelling: Any = {
        "type": "object",
        "properties": {f"f{n}": {"$ref": "#/$defs/d"} for n in range(1000)},
        "$defs": {"d": {"enum": values}},
    }
    client, _ = client_of(asks({"q": form(schema=swelling)}, "s"), elicitation=accept_prod)
    with pytest.raises(InvalidReply, match="the references repeat more than") as caught:
        await client.call_tool("t")
    assert caught.value.interim is not None


async def test_a_list_of_a_million_faults_is_told_briefly() -> None:
    client, _ = client_of({"content": list(range(1_000_000))})
    with pytest.raises(InvalidReply) as caught:
        await client.call_tool("t")
    assert len(str(caught.value)) < 5000


async def test_state_and_answers_are_in_no_repr() -> None:
    reprs: list[str] = []

    async def answer(question: object) -> Accept:
        reprs.append(repr(question))
        said = Accept({"name": "prod"})
        reprs.append(repr(said))
        return said

    client, _ = client_of(
        asks({"q": form()}, "SEALED"), Failure(None, -1, "no"), elicitation=answer
    )
    conversation = client.conversation("t", {"a": "ARGUMENT"})
    with pytest.raises(ServerError) as caught:
        await conversation.run()
    reprs += map(repr, (conversation, conversation.interim, caught.value, caught.value.interim))
    assert not [r for r in reprs if "SEALED" in r or "prod'}" in r or "ARGUMENT" in r]


async def test_a_link_which_may_hold_a_secret_is_in_no_repr() -> None:
    async def look(question: object) -> Accept:
        reprs.append(repr(question))
        return Accept()

    reprs: list[str] = []
    client, _ = client_of(
        asks({"q": link("https://example.com/?once=SECRET")}), done(), elicitation=look
    )
    await client.call_tool("t")
    assert len(reprs) == 1
    assert "SECRET" not in reprs[0]
