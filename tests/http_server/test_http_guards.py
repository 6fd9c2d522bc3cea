"""Who may reach a server from a browser."""

from __future__ import annotations

import pytest

from antiphon.engine.errors import UsageError
from antiphon.engine.jsonrpc import write_message
from antiphon.transports.asgi import HttpApp, http_app
from tests.http_server.scripted import Answer, ScriptedServer, Visit, call, head_of

LOCAL = ("127.0.0.1", 8000)
PUBLIC = ("192.0.2.7", 443)


async def ask(
    app: HttpApp,
    server: tuple[str, int | None] | None,
    *,
    host: str | None = "localhost:8000",
    origin: str | None = None,
) -> Answer:
    request = call()
    headers = head_of(request, host=host, origin=origin)
    return await Visit(headers, [write_message(request)], server=server).run(app)


def plain() -> HttpApp:
    return http_app(ScriptedServer())


# -- by default, on a loopback address --------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:1",
        "LocalHost:8000",
        "127.0.0.1:8000",
        "127.0.0.1",
        "127.8.8.8:80",
        "[::1]:8000",
        "[::1]",
        "[::ffff:127.0.0.1]:80",
    ],
)
@pytest.mark.parametrize("server", [LOCAL, ("::1", 8000), ("localhost", 80), ("127.0.0.2", 1)])
async def test_loopback_host_reaches_a_local_server(host: str, server: tuple[str, int]) -> None:
    assert (await ask(plain(), server, host=host)).status == 200


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example.com",
        "evil.example.com:8000",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "127.1",
        "localhost:8000@evil.example",
        "evil@localhost",
        "localhost:port",
        "localhost:",
        "192.0.2.7",
        "[2001:db8::1]",
        "[::1",
        "::1",
        "0.0.0.0",
        "\xe9",
    ],
)
async def test_other_host_does_not_reach_a_local_server(host: str | None) -> None:
    server = ScriptedServer()
    answer = await ask(http_app(server), LOCAL, host=host)
    assert answer.status == 403
    assert "http_app(..., allowed_hosts=[...])" in answer.message
    assert "id" not in answer.json
    assert server.requests == []


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "http://localhost:8000",
        "http://localhost:9",
        "https://localhost",
        "HTTP://LOCALHOST:8000",
        "http://127.0.0.1:5173",
        "http://[::1]:5173",
    ],
)
async def test_local_page_and_no_page_reach_a_local_server(origin: str | None) -> None:
    assert (await ask(plain(), LOCAL, origin=origin)).status == 200


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "https://evil.example",
        "http://evil.example.com",
        "http://localhost.evil.example",
        "http://localhost@evil.example",
        "http://localhost:8000/path",
        "http://localhost:8000, https://evil.example",
        "chrome-extension://localhost",
        "file://",
        "localhost",
        "\xff",
    ],
)
async def test_other_page_does_not_reach_a_local_server(origin: str) -> None:
    server = ScriptedServer()
    answer = await ask(http_app(server), LOCAL, origin=origin)
    assert answer.status == 403
    assert "http_app(..., allowed_origins=[...])" in answer.message
    assert "id" not in answer.json
    assert server.requests == []


async def test_rebound_name_is_refused_whatever_its_page() -> None:
    answer = await ask(plain(), LOCAL, host="evil.example.com", origin="http://localhost:8000")
    assert answer.status == 403


@pytest.mark.parametrize("header", [b"host", b"origin"])
async def test_repeated_header_is_refused(header: bytes) -> None:
    request = call()
    headers = head_of(request, origin="http://localhost:8000")
    headers.append((header, dict(headers)[header]))
    answer = await Visit(headers, [write_message(request)]).run(plain())
    assert answer.status == 403


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
async def test_foreign_page_is_refused_before_its_method_is_looked_at(method: str) -> None:
    headers = head_of(origin="https://evil.example")
    assert (await Visit(headers, method=method).run(plain())).status == 403


# -- by default, elsewhere --------------------------------------------------------------------


@pytest.mark.parametrize("server", [PUBLIC, ("2001:db8::1", 443), ("/run/mcp.sock", None), None])
async def test_public_server_answers_to_any_name_but_to_no_page(
    server: tuple[str, int | None] | None,
) -> None:
    assert (await ask(plain(), server, host="mcp.example")).status == 200
    for origin in ("https://mcp.example", "http://localhost:8000", "null"):
        answer = await ask(plain(), server, host="mcp.example", origin=origin)
        assert answer.status == 403
        assert "allowed_origins" in answer.message


# -- allow-lists ------------------------------------------------------------------------------


HOSTS = ["mcp.example", "Any.Example:*", "one.example:8443", "[::1]:*"]
ORIGINS = ["https://app.example", "http://localhost:*", "null"]


@pytest.mark.parametrize(
    "host",
    [
        "mcp.example",
        "MCP.example",
        "any.example:1",
        "any.example",
        "one.example:8443",
        "[::1]:5",
        "[::1]",
    ],
)
@pytest.mark.parametrize("server", [LOCAL, PUBLIC])
async def test_allowed_host_is_served(server: tuple[str, int], host: str) -> None:
    app = http_app(ScriptedServer(), allowed_hosts=HOSTS)
    assert (await ask(app, server, host=host)).status == 200


@pytest.mark.parametrize(
    "host",
    [
        None,
        "mcp.example:8000",
        "one.example",
        "xmcp.example",
        "localhost:8000",
        "any.example:x",
        "any.example.evil.example:1",
    ],
)
@pytest.mark.parametrize("server", [LOCAL, PUBLIC])
async def test_host_that_is_not_allowed_is_refused(
    server: tuple[str, int], host: str | None
) -> None:
    app = http_app(ScriptedServer(), allowed_hosts=HOSTS)
    assert (await ask(app, server, host=host)).status == 403


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "https://app.example",
        "HTTPS://APP.example",
        "http://localhost:3",
        "http://localhost",
        "null",
    ],
)
@pytest.mark.parametrize("server", [LOCAL, PUBLIC])
async def test_allowed_origin_is_served(server: tuple[str, int], origin: str | None) -> None:
    app = http_app(ScriptedServer(), allowed_origins=ORIGINS)
    assert (await ask(app, server, origin=origin)).status == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://app.example",
        "https://app.example:8443",
        "https://sub.app.example",
        "https://localhost:3",
        "http://127.0.0.1:3",
    ],
)
@pytest.mark.parametrize("server", [LOCAL, PUBLIC])
async def test_origin_that_is_not_allowed_is_refused(server: tuple[str, int], origin: str) -> None:
    app = http_app(ScriptedServer(), allowed_origins=ORIGINS)
    assert (await ask(app, server, origin=origin)).status == 403


@pytest.mark.parametrize("server", [LOCAL, PUBLIC])
async def test_empty_list_allows_none(server: tuple[str, int]) -> None:
    hosts = http_app(ScriptedServer(), allowed_hosts=[])
    assert (await ask(hosts, server)).status == 403
    origins = http_app(ScriptedServer(), allowed_origins=[])
    assert (await ask(origins, server, origin="http://localhost:8000")).status == 403
    assert (await ask(origins, server)).status == 200


@pytest.mark.parametrize(
    "entry", ["*", "https://mcp.example", "mcp.example/", "mcp.example:x", "user@mcp.example", ""]
)
def test_malformed_host_entry_is_a_mistake(entry: str) -> None:
    with pytest.raises(UsageError, match="allowed_hosts"):
        http_app(ScriptedServer(), allowed_hosts=[entry])


@pytest.mark.parametrize(
    "entry", ["*", "app.example", "https://app.example/", "https://app.example/x", "https://*", ""]
)
def test_malformed_origin_entry_is_a_mistake(entry: str) -> None:
    with pytest.raises(UsageError, match="allowed_origins"):
        http_app(ScriptedServer(), allowed_origins=[entry])


def test_one_text_in_place_of_a_list_is_a_mistake() -> None:
    with pytest.raises(UsageError, match=r"allowed_hosts=\['mcp.example'\]"):
        http_app(ScriptedServer(), allowed_hosts="mcp.example")
