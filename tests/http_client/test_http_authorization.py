"""What the credentials of a transport are recognized by, for what is kept of private results."""

from __future__ import annotations

from antiphon.engine.client_cache import Authorized
from antiphon.transports.http_client import open_http

URL = "https://a.example/mcp"


async def test_a_token_that_changes_is_another_authorization() -> None:
    token = "alice-7f3a"

    async def current() -> str:
        return token

    async with open_http(URL, token=current) as transport:
        assert isinstance(transport, Authorized)
        alice = await transport.authorization()
        assert await transport.authorization() == alice
        token = "bob-91c2"
        bob = await transport.authorization()
    assert alice != bob
    assert b"alice" not in alice


async def test_fixed_credentials_are_told_apart_too() -> None:
    async def of(url: str = URL, token: str | None = None) -> object:
        async with open_http(url, token=token) as transport:
            return await transport.authorization()

    assert len({await of(), await of(token="a"), await of("https://u:p@a.example/mcp")}) == 3
