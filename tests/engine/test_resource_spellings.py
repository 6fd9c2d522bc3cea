"""One resource, however its uri is spelled: no spelling passes it by and reaches a template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import pytest

from antiphon import Call, Complete, Server, ToolError, UsageError
from antiphon.engine import server as server_module
from antiphon.engine import uri_templates
from antiphon.engine.errors import INVALID_PARAMS
from antiphon.engine.jsonrpc import JsonObject
from antiphon.engine.uri_syntax import normal
from tests.engine.offering import contents_text, offering, read, read_error
from tests.engine.peer import Peer


def guarded(uri: str, template: str = "db://{table}") -> Server:
    """A resource for nobody here, and a template that would match it."""
    server = offering()

    @server.resource(uri)
    async def admin(call: Call) -> str:
        if call.principal is None:
            raise ToolError("only for admins")
        return "secret"

    @server.resource_template(template)
    async def rows(table: str = "", a: str = "", b: str = "") -> str:
        return f"rows of {table} {a} {b}"

    return server


@pytest.mark.parametrize(
    ("uri", "spelling"),
    [
        ("db://admin", "db://admin"),
        ("db://admin", "db://%61dmin"),
        ("db://admin", "db://%61%64%6D%69%6e"),
        ("db://%C3%A9t%C3%A9", "db://été"),
        ("db://%C3%A9t%C3%A9", "db://%c3%a9t%c3%a9"),
        ("db://me@example.org", "db://me%40example.org"),
        ("db://me@example.org", "db://%6de%40example.org"),
        ("db://a%3Ab", "db://a:b"),
    ],
)
async def test_no_spelling_passes_a_resource_by(uri: str, spelling: str) -> None:
    peer = Peer(guarded(uri))
    assert (await read_error(peer, spelling)).message == "only for admins"
    assert contents_text(await read(peer, "db://other")) == "rows of other  "


async def test_nor_does_the_order_of_a_query() -> None:
    peer = Peer(guarded("db://x?a=1&b=2", "db://{table}{?a,b}"))
    for spelling in ("db://x?a=1&b=2", "db://x?b=2&a=1", "db://x?b=%32&a=1"):
        assert (await read_error(peer, spelling)).message == "only for admins"
    assert contents_text(await read(peer, "db://x?a=2&b=1")) == "rows of x 2 1"


async def test_what_a_template_tells_apart_is_another_resource() -> None:
    server = offering()

    @server.resource("db:///a:b")
    async def both() -> str:
        return "the resource"

    @server.resource_template("db:///{a}:{b}")
    async def rows(a: str, b: str) -> str:
        return f"{a} {b}"

    peer = Peer(server)
    assert contents_text(await read(peer, "db:///a:b")) == "the resource"
    assert contents_text(await read(peer, "db:///%61:b")) == "the resource"
    assert contents_text(await read(peer, "db:///a:b%3A")) == "a b:"
    assert (await read_error(peer, "db:///a%3Ab")).code == INVALID_PARAMS


async def test_the_contents_keep_the_spelling_of_the_client() -> None:
    server = offering()

    @server.resource("config://app")
    async def app() -> str:
        return "x"

    for spelling in ("config://app", "config://%61pp"):
        (contents,) = (await read(Peer(server), spelling))["contents"]
        assert contents["uri"] == spelling


async def nothing() -> str:
    return ""


@pytest.mark.parametrize("second", ["x://%61", "x://a"])
def test_of_two_spellings_one_is_registered(second: str) -> None:
    server = offering()
    server.resource("x://a")(nothing)
    with pytest.raises(UsageError, match="A resource named 'x://a' is registered already"):
        server.resource(second)(nothing)
    server.resources.remove("x://a")
    server.resource(second)(nothing)
    assert len(server.resources) == 1


async def test_a_resource_that_was_removed_leaves_its_spellings_to_the_template() -> None:
    server = guarded("db://me@x")
    peer = Peer(server)
    assert (await read_error(peer, "db://me%40x")).message == "only for admins"
    server.resources.remove("db://me@x")
    for spelling in ("db://me@x", "db://me%40x", "db://%6de@x"):
        assert contents_text(await read(peer, spelling)) == "rows of me@x  "
    with pytest.raises(UsageError, match="No resource named 'db://me%40x' is registered"):
        server.resources.remove("db://me%40x")


async def suggest(value: str, others: Mapping[str, str]) -> list[str]:
    return ["a"]


async def completed(a: Annotated[str, Complete(suggest)]) -> str:
    return a


SPELLED = "t19://" + "%61" * 10
COMPLETED: JsonObject = {
    "ref": {"type": "ref/resource", "uri": SPELLED},
    "argument": {"name": "a", "value": ""},
}


@pytest.mark.parametrize(
    ("method", "params"),
    [("resources/read", {"uri": SPELLED}), ("completion/complete", COMPLETED)],
)
async def test_a_uri_is_made_normal_once_for_all_templates(
    method: str, params: JsonObject, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = offering()
    for number in range(20):
        server.resource_template(f"t{number}://{{a}}", name=f"t{number}")(completed)
    made: list[str] = []

    def counting(text: str) -> str | None:
        made.append(text)
        return normal(text)

    for module in (uri_templates, server_module):
        monkeypatch.setattr(module, "normal", counting, raising=False)
    await Peer(server).ask(method, params)
    assert made == [SPELLED]
