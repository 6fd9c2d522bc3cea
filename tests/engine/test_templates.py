"""Resource templates: which uris they match, what these give, and rounds of reading."""

from __future__ import annotations

import logging
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon import (
    Annotations,
    Call,
    Failed,
    Form,
    Given,
    InputRequired,
    Limits,
    Meta,
    ResourceContents,
    ResourceNotFound,
)
from antiphon.engine.errors import INTERNAL_ERROR, INVALID_PARAMS, MISSING_CAPABILITY
from antiphon.engine.jsonrpc import JsonObject
from antiphon.engine.sealing import INVALID_STATE
from antiphon.engine.uri_templates import UriTemplate
from tests.engine.offering import Essay, Tone, contents_text, offering, read, read_error
from tests.engine.peer import DECLINE, Peer, accept, asked, meta

DRY: JsonObject = {"tone": accept(tone="dry")}
YES: JsonObject = {"sure": accept(sure=True)}


def books(**options: Any) -> Peer:
    server = offering()

    @server.resource_template("book://{shelf}/{number}{?language,page}", **options)
    async def book(
        shelf: Literal["a", "b"],
        number: Annotated[int, Meta(ge=1)],
        language: str = "en",
        page: int | None = None,
    ) -> str:
        """A book."""
        if number == 13:
            raise ResourceNotFound("there is no such book")
        return f"{shelf} {number} {language} {page}"

    @server.resource("book://a/1")
    async def first() -> str:
        return "the very first"

    return Peer(server)


# -- matching ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("book://b/1", "b 1 en None"),
        ("book://a/2?language=de", "a 2 de None"),
        ("book://a/2?page=4&language=de", "a 2 de 4"),
        ("book://a/2?language=", "a 2  None"),
        ("book://a/2?language=fran%C3%A7ais", "a 2 français None"),
        ("book://a/1", "the very first"),
        ("book://a/1?page=1", "a 1 en 1"),
    ],
)
async def test_a_uri_gives_the_values_of_the_variables(uri: str, expected: str) -> None:
    result = await read(books(), uri)
    assert contents_text(result) == expected
    assert result["contents"][0]["uri"] == uri


async def test_what_a_client_left_plain_is_encoded_in_the_contents() -> None:
    server = offering()

    @server.resource_template("file:///{name}")
    async def file(name: str) -> str:
        return name

    (contents,) = (await read(Peer(server), "file:///größe 1%7e"))["contents"]
    assert contents == {"uri": "file:///gr%C3%B6%C3%9Fe%201~", "text": "größe 1~"}


@pytest.mark.parametrize(
    "uri",
    ["book://a", "book://a/", "book://a/2/3", "book://a/2?colour=red", "book://a/2#x", "book:a/2"],
)
async def test_a_uri_that_no_template_matches_has_no_resource(uri: str) -> None:
    error = await read_error(books(), uri)
    assert (error.code, error.message) == (INVALID_PARAMS, "Resource not found")
    assert error.data == {"uri": uri}


@pytest.mark.parametrize(
    ("uri", "fault"),
    [
        ("book://c/2", "shelf"),
        ("book://a/two", "number: must be a whole number"),
        ("book://a/0", "number"),
        ("book://a/2?page=last", "page: must be a whole number"),
    ],
)
async def test_values_that_do_not_fit_are_no_resource_and_told(uri: str, fault: str) -> None:
    error = await read_error(books(), uri)
    assert error.code == INVALID_PARAMS
    assert error.message.startswith("Resource not found: Invalid arguments for book: ")
    assert fault in error.message
    assert error.data == {"uri": uri}


async def test_a_handler_may_find_that_nothing_is_there(caplog: pytest.LogCaptureFixture) -> None:
    error = await read_error(books(), "book://a/13")
    assert (error.code, error.message) == (INVALID_PARAMS, "Resource not found")
    assert error.data == {"uri": "book://a/13"}
    assert not caplog.records


async def test_of_two_templates_the_first_that_matches_counts() -> None:
    server = offering()

    @server.resource_template("x://{a}/y")
    async def first(a: str) -> str:
        return f"first {a}"

    @server.resource_template("x://{a}/{b}")
    async def second(a: str, b: str) -> str:
        return f"second {a} {b}"

    peer = Peer(server)
    assert contents_text(await read(peer, "x://1/y")) == "first 1"
    assert contents_text(await read(peer, "x://1/z")) == "second 1 z"
    server.templates.remove("x://{a}/y")
    assert contents_text(await read(peer, "x://1/y")) == "second 1 y"
    server.templates.remove("x://{a}/{b}")
    assert (await read_error(peer, "x://1/y")).data == {"uri": "x://1/y"}


CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
# RFC 6570 leaves these plain in a path, where RFC 3986 has none.
PATHS = st.text(CHARACTERS.filter(lambda char: char not in "#[]"), min_size=1)


@given(name=st.text(CHARACTERS, min_size=1), path=PATHS)
async def test_whatever_a_template_expands_to_is_read_back(name: str, path: str) -> None:
    server = offering()
    template = "file:///{name}/{+path}"
    seen: list[tuple[str, str]] = []

    @server.resource_template(template)
    async def file(name: str, path: str) -> str:
        seen.append((name, path))
        return ""

    uri = UriTemplate.parse(template).expand(name=name, path=path)
    result = await read(Peer(server), uri)
    assert seen == [(name, path)]
    assert result["contents"][0]["uri"] == uri


@given(uri=st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
async def test_whatever_is_read_is_answered(uri: str) -> None:
    peer = books()
    for asked_for in (uri, f"book://a/{uri}", f"book://{uri}/2"):
        reply = await peer.exchange("resources/read", {"_meta": meta(), "uri": asked_for})
        assert getattr(reply, "code", None) in (None, INVALID_PARAMS)


# -- how they are listed ----------------------------------------------------------------------


async def test_templates_are_listed_apart_from_resources() -> None:
    peer = books(
        name="Books",
        title="All books",
        mime_type="text/plain",
        annotations=Annotations(priority=1),
        meta={"com.example/team": "red"},
    )
    templates = await peer.ask("resources/templates/list")
    assert templates["resourceTemplates"] == [
        {
            "uriTemplate": "book://{shelf}/{number}{?language,page}",
            "name": "Books",
            "title": "All books",
            "description": "A book.",
            "mimeType": "text/plain",
            "annotations": {"priority": 1},
            "_meta": {"com.example/team": "red"},
        }
    ]
    resources = await peer.ask("resources/list")
    assert [resource["uri"] for resource in resources["resources"]] == ["book://a/1"]
    (contents,) = (await read(peer, "book://b/1"))["contents"]
    assert contents["mimeType"] == "text/plain"


async def test_either_kind_offers_the_lists_of_both() -> None:
    server = offering()
    server.resource_template("essay://{animal}", Essay())
    peer = Peer(server)
    assert (await peer.ask("resources/list"))["resources"] == []
    assert len((await peer.ask("resources/templates/list"))["resourceTemplates"]) == 1
    capabilities = (await peer.ask("server/discover"))["capabilities"]
    assert capabilities["resources"] == {"listChanged": True, "subscribe": True}


async def test_a_client_without_what_a_template_needs_is_refused() -> None:
    peer = books(needs={"roots": {}})
    peer.capabilities = {}
    error = await read_error(peer, "book://b/1")
    assert error.code == MISSING_CAPABILITY
    assert error.data == {"requiredCapabilities": {"roots": {}}}


# -- rounds -----------------------------------------------------------------------------------


def caching(result: dict[str, Any]) -> tuple[int, str]:
    return result["ttlMs"], result["cacheScope"]


def essays(**options: Any) -> Peer:
    server = offering(**options)
    server.resource_template("essay://{animal}", Essay(), ttl_ms=9000, cache_scope="public")
    return Peer(server)


async def test_a_template_asks_over_as_many_rounds_as_it_takes() -> None:
    peer, uri = essays(), "essay://dogs"
    first = await read(peer, uri)
    assert asked(first) == ["tone"]
    second = await read(peer, uri, state=first["requestState"], responses=DRY)
    assert asked(second) == ["sure"]
    last = await read(peer, uri, state=second["requestState"], responses=YES)
    assert contents_text(last) == "On dogs, dry"
    assert caching(last) == (0, "private")
    for interim in (first, second):
        assert interim.keys() == {"resultType", "requestState", "inputRequests", "_meta"}


async def test_values_that_do_not_fit_are_told_before_anything_is_asked() -> None:
    error = await read_error(essays(), "essay://cows")
    assert error.code == INVALID_PARAMS
    assert error.data == {"uri": "essay://cows"}


async def test_a_state_is_for_one_spelling_of_a_uri() -> None:
    peer = essays()
    first = await read(peer, "essay://dogs")
    error = await read_error(peer, "essay://%64ogs", state=first["requestState"], responses=DRY)
    assert (error.code, error.message) == (INVALID_PARAMS, INVALID_STATE)
    assert asked(await read(peer, "essay://%64ogs")) == ["tone"]


async def test_a_refusal_ends_in_an_error_with_words_for_the_host() -> None:
    peer, uri = essays(), "essay://dogs"
    first = await read(peer, uri)
    error = await read_error(peer, uri, state=first["requestState"], responses={"tone": DECLINE})
    assert error.code == INTERNAL_ERROR
    assert "the user declined" in error.message


async def test_a_client_that_cannot_be_asked_is_told_what_it_lacks() -> None:
    peer = essays()
    peer.capabilities = {}
    error = await read_error(peer, "essay://dogs")
    assert error.code == MISSING_CAPABILITY
    assert error.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}


async def test_rounds_are_bounded() -> None:
    peer, uri = essays(limits=Limits(rounds=1)), "essay://dogs"
    first = await read(peer, uri)
    error = await read_error(peer, uri, state=first["requestState"], responses=DRY)
    assert error.code == INTERNAL_ERROR
    assert "which is limit rounds" in error.message


def by_hand(**options: Any) -> Peer:
    server = offering()

    @server.resource_template("secret://{name}", **options)
    async def secret(
        name: str, call: Call[Any]
    ) -> str | InputRequired | Failed | list[ResourceContents]:
        if name == "open":
            return "come in"
        tone = Form("Which tone?", Tone)
        match call.answer("tone", tone):
            case Given(answer):
                return [ResourceContents(f"{answer.tone} {call.request_state}")]
            case None:
                return InputRequired({"tone": tone}, state=[name, call.round])
            case _:
                return Failed("No.")

    return Peer(server)


async def test_a_function_asks_by_hand() -> None:
    peer, uri = by_hand(ttl_ms=100), "secret://door"
    first = await read(peer, uri)
    assert asked(first) == ["tone"]
    last = await read(peer, uri, state=first["requestState"], responses=DRY)
    assert contents_text(last) == "dry ['door', 1]"
    assert caching(last) == (0, "private")
    told = await read_error(peer, uri, state=first["requestState"], responses={"tone": DECLINE})
    assert (told.code, told.message) == (INTERNAL_ERROR, "No.")


async def test_what_was_read_without_a_question_is_kept_as_registered() -> None:
    assert caching(await read(by_hand(ttl_ms=100), "secret://open")) == (100, "private")


async def test_what_is_not_expected_is_masked_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    server = offering()

    @server.resource_template("x://{id}")
    async def broken(id: str) -> str:
        raise LookupError(f"secret {id}")

    error = await read_error(Peer(server), "x://7")
    assert error.code == INTERNAL_ERROR
    assert error.message == "broken failed because of an error in the server. It has been logged."
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info
