"""What holds for every list: pages, cursors, caching hints, and what comes and goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from antiphon import Limits, Server
from antiphon.engine.errors import INVALID_PARAMS, METHOD_NOT_FOUND
from antiphon.engine.jsonrpc import JsonValue
from antiphon.engine.registry import Registry
from tests.engine.offering import error_of, offering
from tests.engine.peer import Peer


async def plain() -> str:
    return ""


def _tool(server: Server, name: str) -> None:
    server.tool(name=name)(plain)


def _prompt(server: Server, name: str) -> None:
    server.prompt(name=name)(plain)


def _resource(server: Server, name: str) -> None:
    server.resource(f"x://{name}", name=name)(plain)


def _template(server: Server, name: str) -> None:
    async def one(id: str) -> str:
        return id

    server.resource_template(f"x://{name}/{{id}}", name=name)(one)


@frozen
class Listing:
    """One list method, and how its list grows and shrinks."""

    method: str
    member: str
    add: Callable[[Server, str], None]
    registry: str
    key: str = "{name}"

    def remove(self, server: Server, name: str) -> None:
        registry: Registry[Any] = getattr(server, self.registry)
        registry.remove(self.key.format(name=name))

    async def page(self, peer: Peer, cursor: JsonValue = None) -> dict[str, Any]:
        return await peer.ask(self.method, {} if cursor is None else {"cursor": cursor})

    def names(self, page: dict[str, Any]) -> list[str]:
        return [entry["name"] for entry in page[self.member]]

    async def pages(self, peer: Peer) -> list[dict[str, Any]]:
        pages = [await self.page(peer)]
        while (cursor := pages[-1].get("nextCursor")) is not None:
            pages.append(await self.page(peer, cursor))
        return pages


LISTINGS: Final = (
    Listing("tools/list", "tools", _tool, "tools"),
    Listing("prompts/list", "prompts", _prompt, "prompts"),
    Listing("resources/list", "resources", _resource, "resources", "x://{name}"),
    Listing(
        "resources/templates/list",
        "resourceTemplates",
        _template,
        "templates",
        "x://{name}/{{id}}",
    ),
)
every_listing = pytest.mark.parametrize("listing", LISTINGS, ids=lambda listing: listing.method)


def filled(listing: Listing, count: int, **options: Any) -> Peer:
    server = offering(**options)
    for number in range(count):
        listing.add(server, f"n{number}")
    return Peer(server)


@every_listing
@given(count=st.integers(1, 12), size=st.integers(1, 5))
async def test_pages_hold_every_entry_once_in_order(
    listing: Listing, count: int, size: int
) -> None:
    pages = await listing.pages(filled(listing, count, limits=Limits(page=size)))
    listed = [name for page in pages for name in listing.names(page)]
    assert listed == [f"n{number}" for number in range(count)]
    assert all(len(listing.names(page)) == size for page in pages[:-1])
    assert 1 <= len(listing.names(pages[-1])) <= size


@every_listing
async def test_a_cursor_says_nothing_of_what_it_stands_for(listing: Listing) -> None:
    page = await listing.page(filled(listing, 2, limits=Limits(page=1)))
    assert isinstance(page["nextCursor"], str)
    assert "n0" not in page["nextCursor"]


@every_listing
@pytest.mark.parametrize("cursor", ["", "n0", "bjA", "!", "é", "bjk=", "\u0000", 5, [], {}])
async def test_a_cursor_that_is_none_of_ours_is_invalid_params(
    listing: Listing, cursor: JsonValue
) -> None:
    error = await error_of(filled(listing, 2), listing.method, {"cursor": cursor})
    assert error.code == INVALID_PARAMS


@every_listing
@given(cursor=st.text(st.characters(exclude_categories=["Cs"])))
async def test_whatever_a_cursor_says_is_answered(listing: Listing, cursor: str) -> None:
    reply = await error_of(filled(listing, 2), listing.method, {"cursor": cursor})
    assert reply.code == INVALID_PARAMS


async def test_a_cursor_of_one_list_is_none_of_another() -> None:
    server = offering(limits=Limits(page=1))
    for listing in LISTINGS:
        for name in ("first", "second"):
            listing.add(server, f"{name} {listing.member}".replace(" ", "-"))
    peer = Peer(server)
    cursors = {one.method: (await one.page(peer))["nextCursor"] for one in LISTINGS}
    for listing in LISTINGS:
        for method, cursor in cursors.items():
            if method != listing.method:
                error = await error_of(peer, listing.method, {"cursor": cursor})
                assert error.code == INVALID_PARAMS


@every_listing
async def test_entries_that_come_and_go_hide_and_repeat_no_others(listing: Listing) -> None:
    peer = filled(listing, 4, limits=Limits(page=2))
    first = await listing.page(peer)
    listing.remove(peer.server, "n0")
    listing.remove(peer.server, "n2")
    listing.add(peer.server, "late")
    second = await listing.page(peer, first["nextCursor"])
    assert listing.names(first) == ["n0", "n1"]
    assert listing.names(second) == ["n3", "late"]
    assert "nextCursor" not in second


@every_listing
async def test_a_cursor_whose_entry_has_gone_is_invalid_params(listing: Listing) -> None:
    peer = filled(listing, 3, limits=Limits(page=1))
    first = await listing.page(peer)
    listing.remove(peer.server, "n0")
    error = await error_of(peer, listing.method, {"cursor": first["nextCursor"]})
    assert error.code == INVALID_PARAMS
    assert "list again from the first page" in error.message


@every_listing
async def test_caching_hints_are_the_same_on_all_pages(listing: Listing) -> None:
    for options, expected in (
        ({}, (0, "private")),
        ({"list_ttl_ms": 60_000, "list_scope": "public"}, (60_000, "public")),
    ):
        pages = await listing.pages(filled(listing, 5, limits=Limits(page=2), **options))
        assert len(pages) == 3
        assert {(page["ttlMs"], page["cacheScope"]) for page in pages} == {expected}


async def test_discovery_has_the_hints_of_the_lists() -> None:
    peer = Peer(offering(list_ttl_ms=7, list_scope="public"))
    found = await peer.ask("server/discover")
    assert (found["ttlMs"], found["cacheScope"]) == (7, "public")


@every_listing
async def test_what_was_never_registered_is_no_method(listing: Listing) -> None:
    error = await error_of(Peer(offering()), listing.method, {})
    assert error.code == METHOD_NOT_FOUND


@every_listing
async def test_what_was_registered_once_stays_declared(listing: Listing) -> None:
    peer = filled(listing, 1)
    before = (await peer.ask("server/discover"))["capabilities"]
    listing.remove(peer.server, "n0")
    assert (await peer.ask("server/discover"))["capabilities"] == before
    assert listing.names(await listing.page(peer)) == []


@every_listing
async def test_a_list_never_asks(listing: Listing) -> None:
    """Answers and a state that come with a list are of no account."""
    peer = filled(listing, 1)
    page = await peer.ask(listing.method, {"inputResponses": {"a": {}}, "requestState": "x"})
    assert page["resultType"] == "complete"
