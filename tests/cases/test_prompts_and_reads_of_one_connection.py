"""What tools withstand, prompts, resources and completion withstand too."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import pytest
import trio

from antiphon import Complete, Server
from antiphon.engine.jsonrpc import JsonObject
from tests.cases.flows import KEY, Echo
from tests.engine.peer import EVERYTHING, accept, meta
from tests.stdio.harness import cancel, line, served

READ: Final = {"uri": "word://here/größe"}
GET: Final = {"name": "größe", "arguments": {"word": "hi"}}
SUGGEST: Final = {
    "ref": {"type": "ref/prompt", "name": "größe"},
    "argument": {"name": "word", "value": "h"},
}
REQUESTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "prompts/get": GET,
    "resources/read": READ,
    "completion/complete": SUGGEST,
}
every_method = pytest.mark.parametrize("method", list(REQUESTS))


class Words:
    """A server with one of each kind; it notes what ran, and can be made to wait."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.waits = False
        self.server = Server("words", version="1", keys=[KEY])
        self._register()

    def _register(self) -> None:
        async def suggest(value: str, others: Mapping[str, str]) -> list[str]:
            await self._run("completion/complete")
            return [value + "i"]

        @self.server.prompt(name="größe")
        async def prompt(word: Annotated[str, Complete(suggest)]) -> str:
            await self._run("prompts/get")
            return word

        @self.server.resource_template("word://here/{word}")
        async def resource(word: str) -> str:
            await self._run("resources/read")
            return word

        self.server.prompt(Echo())
        self.server.tool(Echo())

    async def _run(self, method: str) -> None:
        self.ran.append(method)
        if self.waits:
            await trio.sleep_forever()


def request(id: object, method: str, capabilities: Any = EVERYTHING, **params: Any) -> Any:
    members = {**params, "_meta": meta(capabilities)}
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": members}


def with_half_a_pair(message: Any, member: str) -> bytes:
    """The message with a lone surrogate in place of a text."""
    whole = line(message)
    assert member.encode() in whole
    return whole.replace(member.encode(), b"\\ud800", 1)


@every_method
async def test_all_is_well_without_a_fault(method: str) -> None:
    words = Words()
    async with served(words.server) as peer:
        await peer.say(request(1, method, **REQUESTS[method]))
        assert (await peer.hear())["result"]["resultType"] == "complete"
    assert words.ran == [method]


@every_method
async def test_a_request_method_without_an_id_is_neither_run_nor_answered(method: str) -> None:
    words = Words()
    message = request(1, method, **REQUESTS[method])
    del message["id"]
    async with served(words.server) as peer:
        await peer.say(message)
        await peer.hear_nothing()
    assert words.ran == []


@every_method
@pytest.mark.parametrize("params", [None, [], {}, {"_meta": None}, {"_meta": meta()}])
async def test_params_that_are_missing_or_malformed_are_refused(method: str, params: Any) -> None:
    words = Words()
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    async with served(words.server) as peer:
        await peer.say(message, request(2, method, **REQUESTS[method]))
        replies = await peer.hear_all(2)
        assert replies[1]["error"]["code"] in (-32600, -32602)
        assert replies[2]["result"]["resultType"] == "complete"


@pytest.mark.parametrize("arguments", [None, {}])
async def test_arguments_that_are_absent_or_null_are_none_at_all(arguments: Any) -> None:
    async with served(Words().server) as peer:
        await peer.say(request(1, "prompts/get", name="echo", arguments=arguments))
        assert (await peer.hear())["result"]["resultType"] == "input_required"


@pytest.mark.parametrize(
    ("method", "member"),
    [
        ("prompts/get", "größe"),
        ("prompts/get", "word"),
        ("prompts/get", "hi"),
        ("resources/read", "größe"),
        ("completion/complete", "größe"),
        ("completion/complete", "word"),
    ],
)
async def test_half_a_surrogate_pair_never_ends_the_connection(method: str, member: str) -> None:
    words = Words()
    message = request(1, method, **REQUESTS[method])
    hostile = with_half_a_pair(message, member)
    async with served(words.server) as peer:
        await peer.raw(hostile)
        assert (await peer.hear())["error"]["code"] == -32700
        await peer.say(request(2, method, **REQUESTS[method]))
        assert (await peer.hear())["result"]["resultType"] == "complete"
    assert words.ran == [method]


@every_method
async def test_a_cancelled_request_holds_up_no_other_and_is_not_answered(method: str) -> None:
    words = Words()
    words.waits = True
    async with served(words.server) as peer:
        await peer.say(request("slow", method, **REQUESTS[method]))
        await peer.say(request(1, "prompts/list"))
        assert (await peer.hear())["id"] == 1
        await peer.say(cancel("slow"), request(2, "prompts/list"))
        assert (await peer.hear())["id"] == 2
        await peer.hear_nothing()
    assert words.ran == [method]


async def test_what_one_request_declares_counts_for_no_other() -> None:
    async with served(Words().server) as peer:
        await peer.say(
            request(1, "prompts/get", name="echo"),
            request(2, "prompts/get", {}, name="echo"),
            request(3, "prompts/get", name="echo"),
        )
        replies = await peer.hear_all(3)
        assert replies[1]["result"]["resultType"] == "input_required"
        assert replies[2]["error"]["code"] == -32021
        assert replies[3]["result"]["resultType"] == "input_required"
        state = replies[1]["result"]["requestState"]
        answers = {"asking_word": accept(word="hi")}
        await peer.say(
            request(4, "prompts/get", {}, name="echo", requestState=state, inputResponses=answers),
            request(5, "tools/call", name="echo", requestState=state, inputResponses=answers),
            request(6, "prompts/get", name="echo", requestState=None, inputResponses=None),
        )
        replies = await peer.hear_all(3)
        assert replies[4]["result"]["messages"][0]["content"]["text"] == "hi"
        assert replies[5]["error"]["message"] == "Invalid or expired requestState"
        assert replies[6]["result"]["resultType"] == "input_required"


@pytest.mark.parametrize("action", ["decline", "cancel"])
@pytest.mark.parametrize("surplus", [{}, {"content": None}, {"content": {}}, {"resultType": "x"}])
async def test_a_bare_refusal_of_a_prompt_is_taken_with_whatever_stands_beside_it(
    action: str, surplus: Mapping[str, Any]
) -> None:
    async with served(Words().server) as peer:
        await peer.say(request(1, "prompts/get", name="echo"))
        state = (await peer.hear())["result"]["requestState"]
        answers = {"asking_word": {"action": action, **surplus}}
        again = request(2, "prompts/get", name="echo", requestState=state, inputResponses=answers)
        await peer.say(again)
        error = (await peer.hear())["error"]
        assert error["code"] == -32603
        assert "the user" in error["message"]


async def test_an_extension_that_is_not_served_is_not_advertised() -> None:
    tasks = "io.modelcontextprotocol/tasks"
    declared: JsonObject = {**EVERYTHING, "extensions": {tasks: {}}}
    async with served(Words().server) as peer:
        await peer.say(
            request(1, "server/discover", declared),
            request(2, "tools/call", declared, name="echo", task={"ttl": 1000}),
            request(3, "tasks/get", declared, taskId="x"),
            request(4, "tasks/update", declared, taskId="x", inputResponses={}),
        )
        replies = await peer.hear_all(4)
        assert not {"tasks", "extensions"} & replies[1]["result"]["capabilities"].keys()
        assert replies[2]["result"]["resultType"] == "input_required"
        assert [replies[id]["error"]["code"] for id in (3, 4)] == [-32601, -32601]
