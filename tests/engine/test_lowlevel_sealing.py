"""The sealing boundary of a low-level server: plain state inside, sealed state outside."""

from __future__ import annotations

import logging
from base64 import b64decode, b64encode
from itertools import pairwise

import pytest

from antiphon import Incoming, Limits, LowLevelServer, Principal, Server, UsageError, generate_key
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import JsonObject, JsonValue
from tests.engine.low import METHODS, asking, error_of, result_of, sealing, text
from tests.engine.peer import KEY
from tests.engine.states import OTHER_KEY, Clock
from tests.naming import shown

ALICE = Principal("app", "https://issuer.example", "alice")
TOOL: JsonObject = {"name": "deploy", "arguments": {"to": "prod", "n": 1}}


def target(method: str, name: str = "thing") -> JsonObject:
    return {METHODS[method]: name}


async def minted(server: LowLevelServer, **more: Principal | None) -> str:
    first = await result_of(server, "tools/call", TOOL, **more)
    return str(first["requestState"])


async def refused(
    server: LowLevelServer,
    caplog: pytest.LogCaptureFixture,
    state: JsonValue,
    method: str = "tools/call",
    params: JsonObject = TOOL,
    **more: Principal | None,
) -> str:
    """How it was logged; all refusals look alike to the client."""
    caplog.clear()
    error = await error_of(server, method, {**params, "requestState": state}, **more)
    assert (error.code, error.message) == (-32602, "Invalid or expired requestState")
    assert error.data is None
    (record,) = [r for r in caplog.records if r.name == "antiphon.server"]
    assert record.levelno == logging.WARNING
    return record.getMessage().partition("refused: ")[2]


# -- plain inside, sealed outside -------------------------------------------------------------


async def test_handlers_write_and_read_plain_states() -> None:
    server, given = sealing()
    state = await minted(server)
    assert state.startswith("a1.")
    assert "round" not in state
    second = await result_of(server, "tools/call", {**TOOL, "requestState": state})
    assert second["requestState"] not in (state, "round 2")
    last = await result_of(server, "tools/call", {**TOOL, "requestState": second["requestState"]})
    assert last["content"][0]["text"] == "was round 2"
    assert [r.params.get("requestState") for r in given] == [None, "round 1", "round 2"]


@pytest.mark.parametrize("plain", ["", " ", "größe 😀", '{"json": true}', "a1.AAAA", "x" * 5000])
async def test_whatever_text_comes_back_as_it_was(plain: str) -> None:
    server = LowLevelServer("Low")

    @server.method("tools/call")
    async def tools_call(request: Incoming) -> JsonObject:
        state = request.params.get("requestState")
        return asking(plain) if state is None else text("same" if state == plain else "other")

    server.seal_states()
    state = await minted(server)
    last = await result_of(server, "tools/call", {**TOOL, "requestState": state})
    assert last["content"][0]["text"] == "same"


@pytest.mark.parametrize("method", METHODS)
async def test_it_stands_around_the_three_methods_that_may_ask(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    server, given = sealing()
    first = await result_of(server, method, target(method))
    await result_of(server, method, {**target(method), "requestState": first["requestState"]})
    assert [r.params.get("requestState") for r in given] == [None, "round 1"]
    await refused(server, caplog, "round 1", method, target(method))
    assert len(given) == 2  # the handler never sees what does not open


async def test_it_is_checked_where_nothing_is_ever_minted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = LowLevelServer("Low")

    async def plain(request: Incoming) -> JsonObject:
        return text("plain")

    server.seal_states()  # before the handlers are given, too
    for method in METHODS:
        server.method(method)(plain)
    for method in METHODS:
        await refused(server, caplog, "a1.AAAA", method, target(method))


async def test_other_methods_are_left_alone() -> None:
    server, _ = sealing()

    @server.method("com.example/do")
    async def do(request: Incoming) -> JsonObject:
        return {"resultType": "complete", "saw": request.params["requestState"]}

    result = await result_of(server, "com.example/do", {"requestState": "mine"})
    assert result["saw"] == "mine"


async def test_questions_alone_stay_without_a_state() -> None:
    server = LowLevelServer("Low")

    @server.method("tools/call")
    async def tools_call(request: Incoming) -> JsonObject:
        result = asking()
        del result["requestState"]
        return result

    server.seal_states()
    assert "requestState" not in await result_of(server, "tools/call", TOOL)


@pytest.mark.parametrize("state", [5, True, [], {}, {"a": 1}], ids=shown)
async def test_a_state_that_is_no_text_is_the_handlers_fault(
    state: object, caplog: pytest.LogCaptureFixture
) -> None:
    server = LowLevelServer("Low")

    @server.method("tools/call")
    async def tools_call(request: Incoming) -> JsonObject:
        return asking(state)

    server.seal_states()
    assert (await error_of(server, "tools/call", TOOL)).code == -32603
    assert "requestState that is no text" in caplog.text


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": 5},
        {"name": None},
        {"name": "x", "arguments": []},
        {"name": "x", "arguments": "y"},
        {"name": "x", "requestState": 5},
        {"name": "x", "requestState": {}},
    ],
    ids=shown,
)
async def test_what_a_state_could_not_be_bound_to_is_malformed(params: JsonObject) -> None:
    server, given = sealing()
    error = await error_of(server, "tools/call", params)
    assert error.code == -32602
    assert error.message.startswith("Invalid params")
    assert given == []


async def test_a_state_that_is_too_large_names_the_limit(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = LowLevelServer("Low", limits=Limits(token_bytes=500))

    @server.method("tools/call")
    async def tools_call(request: Incoming) -> JsonObject:
        return asking("x" * 600)

    server.seal_states()
    assert (await error_of(server, "tools/call", TOOL)).code == -32603
    assert "limit token_bytes is 500" in caplog.text


# -- keys, codecs, time -----------------------------------------------------------------------


async def test_keys_rotate_in_three_phases_without_dropping_a_round(
    caplog: pytest.LogCaptureFixture,
) -> None:
    old, new = generate_key(), generate_key()
    phases = [sealing(keys=keys)[0] for keys in ([old], [old, new], [new, old], [new])]
    for before, after in pairwise(phases):
        for sealed_by, opened_by in ((before, after), (after, before)):
            state = await minted(sealed_by)
            await result_of(opened_by, "tools/call", {**TOOL, "requestState": state})
    reason = await refused(phases[3], caplog, await minted(phases[0]))
    assert "does not hold" in reason


@pytest.mark.parametrize("keys", [["short"], [], [b"x" * 31]], ids=shown)
def test_unusable_keys_are_refused_at_once(keys: list[str]) -> None:
    with pytest.raises(UsageError):
        LowLevelServer("Low").seal_states(keys=keys)


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf")])
def test_an_unusable_ttl_is_refused_at_once(ttl: float) -> None:
    with pytest.raises(UsageError, match="ttl"):
        LowLevelServer("Low").seal_states(ttl=ttl)


async def test_a_state_expires(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    server, _ = sealing(ttl=60, clock=clock)
    state = await minted(server)
    clock.now += 59
    await result_of(server, "tools/call", {**TOOL, "requestState": state})
    clock.now += 1
    assert await refused(server, caplog, state) == "expired"


class Reversed:
    """A codec that signs with nothing but a wink."""

    def seal(self, payload: bytes) -> str:
        return "wink." + b64encode(payload).decode()

    def unseal(self, token: str) -> bytes:
        if not token.startswith("wink."):
            raise ValueError("no wink")
        return b64decode(token.removeprefix("wink."))


async def test_a_codec_owes_integrity_alone(caplog: pytest.LogCaptureFixture) -> None:
    server, _ = sealing(codec=Reversed())
    state = await minted(server)
    assert state.startswith("wink.")
    await result_of(server, "tools/call", {**TOOL, "requestState": state})
    dev: JsonObject = {"to": "dev", "n": 1}
    other: JsonObject = {**TOOL, "arguments": dev}
    assert await refused(server, caplog, state, params=other) == "sealed for other arguments"
    assert "codec failed" in await refused(server, caplog, "a1.AAAA")


class Broken(Reversed):
    def seal(self, payload: bytes) -> str:
        raise OSError(payload)


async def test_a_codec_that_cannot_seal_mints_nothing(caplog: pytest.LogCaptureFixture) -> None:
    server, _ = sealing(codec=Broken())
    assert (await error_of(server, "tools/call", TOOL)).code == -32603
    assert "The codec cannot seal" in caplog.text


# -- what it is bound to ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"name": "deploy", "arguments": {"n": 1.0, "to": "prod"}}, None),
        ({**TOOL, "inputResponses": {}, "x": 1}, None),
        ({"name": "deploy", "arguments": {"n": 2, "to": "prod"}}, "other arguments"),
        ({"name": "deploy", "arguments": {"n": True, "to": "prod"}}, "other arguments"),
        ({"name": "deploy"}, "other arguments"),
        ({"name": "destroy", "arguments": TOOL["arguments"]}, "another tool"),
    ],
    ids=str,
)
async def test_it_is_bound_to_target_and_arguments(
    params: JsonObject, reason: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    server, _ = sealing()
    state = await minted(server)
    if reason is None:
        await result_of(server, "tools/call", {**params, "requestState": state})
    else:
        assert reason in await refused(server, caplog, state, params=params)


async def test_absent_and_empty_arguments_are_the_same() -> None:
    server, _ = sealing()
    pairs: list[tuple[JsonObject, JsonObject]] = [
        ({}, {"arguments": {}}),
        ({"arguments": None}, {}),
    ]
    for one, other in pairs:
        first = await result_of(server, "tools/call", {"name": "x", **one})
        back: JsonObject = {"name": "x", **other, "requestState": first["requestState"]}
        await result_of(server, "tools/call", back)


async def test_it_is_bound_to_the_method(caplog: pytest.LogCaptureFixture) -> None:
    server, _ = sealing()
    first = await result_of(server, "tools/call", {"name": "same"})
    params: JsonObject = {"name": "same"}
    reason = await refused(server, caplog, first["requestState"], "prompts/get", params)
    assert reason == "sealed for another method"


async def test_it_is_bound_to_the_principal_in_either_direction(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, _ = sealing()
    for minter, other in ((ALICE, None), (None, ALICE), (ALICE, Principal("app", "x", "alice"))):
        state = await minted(server, principal=minter)
        reason = await refused(server, caplog, state, principal=other)
        assert reason == "sealed for another principal"
        await result_of(server, "tools/call", {**TOOL, "requestState": state}, principal=minter)


async def test_it_is_bound_to_what_the_author_says_instead(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def by_subject(exchange: Exchange) -> str | None:
        return exchange.principal.subject if exchange.principal else None

    server, _ = sealing(bind_principal=by_subject)
    state = await minted(server, principal=ALICE)
    other_app = Principal("other app", None, "alice")
    await result_of(server, "tools/call", {**TOOL, "requestState": state}, principal=other_app)
    bob = Principal("app", "https://issuer.example", "bob")
    assert "principal" in await refused(server, caplog, state, principal=bob)


async def test_it_is_bound_to_the_audience(caplog: pytest.LogCaptureFixture) -> None:
    ours, _ = sealing(keys=[KEY])
    theirs, _ = sealing(keys=[KEY], audience="another")
    assert "audience" in await refused(theirs, caplog, await minted(ours))
    same, _ = sealing(keys=[OTHER_KEY, KEY], audience="Low")
    await result_of(same, "tools/call", {**TOOL, "requestState": await minted(ours)})


@pytest.mark.parametrize(("name", "audience"), [("", None), ("Low", ""), (" ", None)])
def test_a_nameless_server_needs_an_audience(name: str, audience: str | None) -> None:
    with pytest.raises(UsageError, match="audience"):
        LowLevelServer(name).seal_states(audience=audience)
    LowLevelServer(name).seal_states(audience="somebody")


def test_a_server_that_seals_by_itself_is_not_sealed_twice() -> None:
    with pytest.raises(UsageError, match=r"Server\(keys=\[\.\.\.\]\)"):
        Server("Shop").seal_states(keys=[b"k" * 32])
