"""A conversation as bytes: stored, damaged, and resumed in another process."""

from __future__ import annotations

import hashlib
import math
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engine.call_errors import DeadlineExceeded, QuestionRefused, UnreadableDump
from antiphon.engine.client import Client
from antiphon.engine.conversation import Asked, Waiting
from antiphon.engine.errors import UsageError
from antiphon.engine.jsonrpc import JsonObject
from antiphon.engine.stored_form import NAME, VERSION
from antiphon.transports.connect import open_client
from tests.client.scripted import (
    ROOTS,
    ScriptedTransport,
    asks,
    client_of,
    done,
    form,
    poll,
    sampling,
)

ARGUMENTS: JsonObject = {"name": "orders", "big": 10**30, "deep": [{"a": None}], "é": "🦆"}


async def stored(*answers: JsonObject, advances: int = 1, **options: Any) -> bytes:
    """A conversation after so many legs, the last of which may have asked."""
    client, _ = client_of(*answers, **options)
    conversation = client.conversation("provision", ARGUMENTS, meta={"traceparent": "00-1"})
    for _n in range(advances):
        step = conversation.step
        answer = {"name": "dev"}
        await conversation.advance(
            dict.fromkeys(step.questions, answer) if isinstance(step, Asked) else None
        )
    return conversation.dump()


async def test_a_stored_conversation_goes_on_as_if_nothing_had_happened() -> None:
    blob = await stored(asks({"region": form()}, "a+b/=\n🦆"))
    client, server = client_of(done())
    conversation = client.load(blob)
    assert isinstance(conversation.step, Asked)
    assert sorted(conversation.step.questions) == ["region"]
    result = await conversation.advance({"region": {"name": "prod"}})
    assert result is conversation.step
    (params,) = server.params
    assert params["arguments"] == ARGUMENTS
    assert params["requestState"] == "a+b/=\n🦆"
    assert params["inputResponses"]["region"]["content"] == {"name": "prod"}
    assert params["_meta"]["traceparent"] == "00-1"


async def test_counts_and_limits_go_on_too() -> None:
    blob = await stored(asks(), asks(), asks(), advances=3)
    client, _ = client_of(asks(), done(), max_rounds=4)
    conversation = client.load(blob)
    assert (conversation.tally.rounds, conversation.tally.accepted) == (3, 2)
    await conversation.advance({"region": {"name": "dev"}})
    assert (conversation.tally.legs, conversation.tally.rounds) == (4, 4)


async def test_a_conversation_that_has_not_begun_can_be_stored() -> None:
    blob = await stored(advances=0)
    client, server = client_of(done())
    conversation = client.load(blob)
    assert conversation.step is None
    await conversation.advance()
    assert "requestState" not in server.params[0]


async def test_a_wait_is_stored_with_its_place_in_the_schedule() -> None:
    blob = await stored(poll(), poll(), advances=2)
    client, _ = client_of(done(), schedule=_Counting())
    assert client.load(blob).step == Waiting(2.0)


class _Counting:
    def after(self, polls: int, hint: float | None) -> float:
        return float(polls)


async def test_the_deadline_stays_where_it_was_on_the_wall_clock() -> None:
    blob = await stored(asks(), clock=lambda: 1000.0, deadline=600)
    client, _ = client_of(done(), clock=lambda: 1500.0, deadline=5)
    assert (client.load(blob).deadline, client.load(blob).remaining) == (1600.0, 100.0)
    late, server = client_of(done(), clock=lambda: 1601.0)
    with pytest.raises(DeadlineExceeded) as caught:
        await late.load(blob).advance({"region": {"name": "dev"}})
    assert server.requests == []
    assert caught.value.interim is not None


async def test_the_time_of_people_is_stored(autojump_clock: trio.testing.MockClock) -> None:
    async def person(_: object) -> dict[str, str]:
        await trio.sleep(40)
        return {"name": "dev"}

    options: Any = {"elicitation": person, "clock": trio.current_time, "people_timeout": 60}
    client, _ = client_of(asks(), TimeoutError(), **options)
    conversation = client.conversation("t")
    with pytest.raises(TimeoutError):
        await conversation.run()
    other, _ = client_of(asks(), **options)
    with pytest.raises(DeadlineExceeded):
        await other.load(conversation.dump()).run()
    assert trio.current_time() == 60


async def test_what_was_declared_stays_declared_unless_it_is_refused_now() -> None:
    blob = await stored(asks({"r": ROOTS}))
    willing, server = client_of(done())
    await willing.load(blob).advance({"r": []})
    declared = server.params[0]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert sorted(declared) == ["elicitation", "roots", "sampling"]
    audit: list[Any] = []
    unwilling, _ = client_of(refuse=["roots"], audit=audit.append)
    with pytest.raises(QuestionRefused):
        unwilling.load(blob)
    assert [entry.outcome for entry in audit] == ["refused"]


async def test_a_conversation_resumed_twice_has_no_id_twice() -> None:
    blob = await stored(poll("s"))
    client, server = client_of(done(), done())
    await client.load(blob).advance()
    await client.load(blob).advance()
    assert server.requests[0]["id"] != server.requests[1]["id"]


# -- where it may go on -----------------------------------------------------------------------


class Elsewhere(ScriptedTransport):
    """A transport by another name, or by the same name with another whole target."""

    def __init__(self, name: str, full_target: str | None = None) -> None:
        super().__init__([done()])
        self.name = name
        if full_target is not None:
            self.full_target = full_target


async def begun_at(name: str, full_target: str | None = None) -> bytes:
    client = Client(Elsewhere(name, full_target))
    return client.conversation("pay", {"iban": "DE02"}).dump()


OTHERS = [
    (("bank",), ("evil",)),
    (("uv run", "uv run bank.py"), ("uv run", "uv run evil.py")),
    (("https://h/mcp", "https://h/mcp?tenant=a"), ("https://h/mcp", "https://h/mcp?tenant=b")),
    (("https://h/mcp", "https://h/mcp?tenant=a"), ("https://h/mcp",)),
]


@pytest.mark.parametrize(("begun", "led"), OTHERS)
async def test_a_conversation_goes_to_no_other_server(begun: Any, led: Any) -> None:
    blob = await begun_at(*begun)
    other = Elsewhere(*led)
    with pytest.raises(UsageError, match="moved=True") as caught:
        Client(other).load(blob)
    assert not isinstance(caught.value, UnreadableDump)
    told = f"began with '{begun[0]}', and this client leads to '{led[0]}'"
    assert told in str(caught.value)
    assert other.requests == []


@pytest.mark.parametrize(("begun", "led"), OTHERS)
async def test_a_server_that_has_moved_is_the_callers_word(begun: Any, led: Any) -> None:
    blob = await begun_at(*begun)
    other = Elsewhere(*led)
    conversation = Client(other).load(blob, moved=True)
    again = conversation.dump()
    assert (await conversation.advance()) is conversation.step
    assert other.params[0]["arguments"] == {"iban": "DE02"}
    # From here on it belongs there, and no longer where it began.
    Client(Elsewhere(*led)).load(again)
    with pytest.raises(UsageError, match="moved=True"):
        Client(Elsewhere(*begun)).load(again)


@pytest.mark.parametrize("target", [("bank",), ("uv run", "uv run bank.py --key=SECRET")])
async def test_the_same_target_goes_on_and_nothing_of_it_is_stored_but_its_name(
    target: Any,
) -> None:
    blob = await begun_at(*target)
    Client(Elsewhere(*target)).load(blob)
    assert b"SECRET" not in blob
    with pytest.raises(UsageError) as caught:
        Client(Elsewhere("other")).load(blob)
    assert "SECRET" not in str(caught.value)


async def test_addresses_are_compared_with_their_query_and_without_credentials() -> None:
    async with open_client("https://me:old@shop.example/mcp?tenant=a") as client:
        blob = client.conversation("pay").dump()
    async with open_client("https://me:new@SHOP.example:443/mcp?tenant=a#top") as client:
        client.load(blob)
    async with open_client("https://me:old@shop.example/mcp?tenant=b") as client:
        with pytest.raises(UsageError, match=r"leads to 'https://shop\.example/mcp'"):
            client.load(blob)


async def test_commands_are_compared_whole() -> None:
    waiting = [sys.executable, "-c", "input()"]
    async with open_client([*waiting, "bank"]) as client:
        blob = client.conversation("pay").dump()
    async with open_client(shlex.join([*waiting, "bank"])) as client:
        client.load(blob)
    async with open_client([*waiting, "evil"]) as client:
        with pytest.raises(UsageError, match="moved=True"):
            client.load(blob)


RESUME = """
import sys, trio
from antiphon.engine.client import Client
from antiphon.engine.jsonrpc import Success

class Server:
    name = "scripted"
    async def exchange(self, request, on_notification):
        assert request.params["requestState"] == "sealed =+/", request.params
        answers = request.params["inputResponses"]
        assert answers == {"region": {"action": "accept", "content": {"name": "prod"}}}, answers
        return Success(request.id, {"content": [{"type": "text", "text": request.id}]})

async def main():
    client = Client(Server(), clock=lambda: 1500.0)
    conversation = client.load(sys.stdin.buffer.read())
    assert conversation.remaining == 100.0
    assert list(conversation.step.questions) == ["region"]
    print((await conversation.advance({"region": {"name": "prod"}})).text)

trio.run(main)
"""


async def test_another_process_takes_it_to_the_end() -> None:
    client, server = client_of(
        asks({"region": form()}, "sealed =+/"), clock=lambda: 1000.0, deadline=600
    )
    conversation = client.conversation("provision", ARGUMENTS)
    await conversation.advance()
    source = Path(__file__).parents[2] / "src"
    finished = await trio.run_process(
        [sys.executable, "-c", RESUME],
        stdin=conversation.dump(),
        capture_stdout=True,
        env={**os.environ, "PYTHONPATH": str(source)},
        stderr=subprocess.STDOUT,
        check=False,
    )
    said = finished.stdout.decode().strip()
    assert finished.returncode == 0, said
    assert said != server.requests[0]["id"]


def loading(blob: bytes) -> None:
    client, _ = client_of()
    client.load(blob)


def _example() -> bytes:
    async def make() -> bytes:
        return await stored(asks({"region": form(), "s": sampling()}, "state"))

    return trio.run(make)


EXAMPLE = _example()


def test_every_flipped_byte_is_found() -> None:
    for place in range(len(EXAMPLE)):
        damaged = bytearray(EXAMPLE)
        damaged[place] ^= 0x01
        with pytest.raises(UnreadableDump):
            loading(bytes(damaged))


def test_every_cut_is_found_and_an_extension_too() -> None:
    for length in range(len(EXAMPLE)):
        with pytest.raises(UnreadableDump):
            loading(EXAMPLE[:length])
    with pytest.raises(UnreadableDump):
        loading(EXAMPLE + b"\x00")


@given(st.binary(max_size=200))
def test_random_bytes_are_no_conversation(blob: bytes) -> None:
    with pytest.raises(UnreadableDump):
        loading(blob)


def sealed(payload: object, *, name: object = NAME, version: object = VERSION) -> bytes:
    """Bytes with a right digest, as one who knows the format can make them."""
    packed = msgspec.msgpack.encode(payload)
    digest = hashlib.blake2b(packed, digest_size=16).digest()
    return msgspec.msgpack.encode([name, version, packed, digest])


def example_payload() -> dict[str, Any]:
    outer = msgspec.msgpack.decode(EXAMPLE, type=tuple[str, int, bytes, bytes])
    return msgspec.msgpack.decode(outer[2], type=dict[str, Any])


def test_the_example_itself_can_be_loaded() -> None:
    loading(sealed(example_payload()))


def test_a_newer_format_says_so() -> None:
    with pytest.raises(UnreadableDump, match=r"format 3.*newer") as caught:
        loading(sealed(example_payload(), version=VERSION + 1))
    assert caught.value.newer


@pytest.mark.parametrize("version", [0, -1, "1", None, 2**70 % 2**63])
def test_a_format_that_never_was_is_refused(version: Any) -> None:
    with pytest.raises(UnreadableDump):
        loading(sealed(example_payload(), version=version))


def test_something_else_in_the_same_clothes_is_refused() -> None:
    with pytest.raises(UnreadableDump, match="no stored conversation"):
        loading(sealed(example_payload(), name="antiphon/other"))


def trace(**changed: Any) -> dict[str, Any]:
    """One question on the trail."""
    told = {"at": 1.0, "round": 1, "key": "a", "kind": "form", "outcome": "accept"}
    return {**told, "server": "s", "via": "v", **changed}


HOSTILE: dict[str, dict[str, Any]] = {
    "an unknown method": {"method": "tools/list"},
    "a method that is no text": {"method": 3},
    "a target that is no JSON": {"target": b"{"},
    "a target that is no object": {"target": b"[]"},
    "a target without a name": {"target": b"{}"},
    "a target whose name is no text": {"target": b'{"name": 3}'},
    "a target that is too deep": {"target": b'{"name":"t","a":' + b"[" * 90 + b"]" * 90 + b"}"},
    "a meta that is no object": {"meta": b"3"},
    "an unknown kind": {"kinds": ["form", "dialog"]},
    "kinds that are none": {"kinds": [3]},
    "a deadline that is no number": {"deadline": "never"},
    "a deadline that is not finite": {"deadline": math.inf},
    "a deadline that is nothing": {"deadline": math.nan},
    "time of people below zero": {"people": -1.0},
    "polls below zero": {"streak": -1},
    "polls without measure": {"streak": 2**64 - 1},
    "an unknown count": {"tally": {"bribed": 1}},
    "a count below zero": {"tally": {"rounds": -5}},
    "a count that is no number": {"tally": {"rounds": "many"}},
    "a trail that is none": {"trail": 3},
    "an outcome that never was": {"trail": [trace(outcome="bribed")]},
    "an outcome of an unknown kind": {"trail": [trace(kind="dialog")]},
    "an outcome at no time": {"trail": [trace(at=math.nan)]},
    "an outcome of no round": {"trail": [trace(round=-1)]},
    "an interim result that is none": {"interim": b'{"resultType":"input_required"}'},
    "a state that is no text": {"interim": b'{"requestState": 3}'},
    "a question that is none": {"interim": b'{"inputRequests": {"a": 3}}'},
    "a form that is none": {
        "interim": b'{"inputRequests":{"a":{"method":"elicitation/create","params":{}}}}'
    },
}


@pytest.mark.parametrize("what", [what for what in HOSTILE if what != "polls without measure"])
def test_a_forged_conversation_is_refused(what: str) -> None:
    with pytest.raises(UnreadableDump):
        loading(sealed({**example_payload(), **HOSTILE[what]}))


def test_a_trail_that_makes_sense_is_taken() -> None:
    client, _ = client_of()
    blob = sealed({**example_payload(), "trail": [trace(), trace(kind="url", outcome="refused")]})
    (first, second) = client.load(blob).trail
    assert (first.key, first.outcome, first.origin.method) == ("a", "accept", "tools/call")
    assert (second.kind, second.outcome, second.origin.via) == ("url", "refused", "v")


def test_a_forged_count_of_polls_overflows_nothing() -> None:
    forged = {**example_payload(), **HOSTILE["polls without measure"]}
    forged["interim"] = b'{"requestState": "s"}'
    loading(sealed(forged))


@pytest.mark.parametrize("member", sorted(example_payload()))
def test_a_conversation_without_one_of_its_parts_is_refused(member: str) -> None:
    payload = example_payload()
    del payload[member]
    with pytest.raises(UnreadableDump):
        loading(sealed(payload))


def test_no_secret_stands_in_the_refusal() -> None:
    payload = {**example_payload(), "target": b'{"password": "hunter2"'}
    with pytest.raises(UnreadableDump) as caught:
        loading(sealed(payload))
    assert "hunter2" not in str(caught.value)


async def test_a_client_of_another_kind_can_take_over() -> None:
    blob = await stored(asks({"region": form()}, "s"))
    _, server = client_of(done())
    assert (await Client(server).load(blob).advance({"region": {"name": "dev"}})) is not None
