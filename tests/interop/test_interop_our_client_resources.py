"""A client of ours reads resources of the official SDK, those that ask included."""

from __future__ import annotations

import pytest

from antiphon import Accept, Asked, Cancel, Decline, FormRequest, ServerError, UrlRequest
from antiphon.engine.asked import ElicitationAnswer
from antiphon.engine.client_messages import ReadResourceResult
from antiphon.engine.errors import INTERNAL_ERROR, INVALID_PARAMS
from tests.interop.answering import person
from tests.interop.clients import CARRIERS, our_client, reachable
from tests.interop.servers import Over
from tests.interop.theirs_carriers import COVER


async def test_texts_and_bytes_are_read(over: Over) -> None:
    async with reachable(over, CARRIERS) as connect, connect() as client:
        listed = {resource.uri: resource for resource in await client.list_resources()}
        (catalogue,) = (await client.read_resource("shelf://catalogue")).contents
        (cover,) = (await client.read_resource("shelf://cover")).contents
    assert listed["shelf://catalogue"].mime_type == catalogue.mime_type == "text/markdown"
    assert (catalogue.uri, catalogue.text) == ("shelf://catalogue", "# Größe 名前")
    assert (cover.mime_type, cover.text) == ("image/png", None)
    assert cover.data == COVER


async def test_templates_are_listed_and_filled_in(over: Over) -> None:
    async with reachable(over, CARRIERS) as connect, connect() as client:
        templates = {each.uri_template: each for each in await client.list_resource_templates()}
        dune = await client.read_resource("shelf://books/dune")
        spaced = await client.read_resource("shelf://books/gr%C3%B6%C3%9Fe%20%F0%9F%9A%A2")
    assert templates["shelf://books/{name}"].name == "book"
    assert templates["shelf://books/{name}"].description == "A book of the shelf."
    assert dune.text == "The text of dune."
    assert spaced.text == "The text of größe 🚢."


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("shelf://nowhere", INVALID_PARAMS),
        ("shelf://books/missing", INVALID_PARAMS),
        ("shelf://books/burnt", INTERNAL_ERROR),
    ],
)
async def test_resource_that_cannot_be_read_is_an_error(uri: str, code: int) -> None:
    async with our_client(CARRIERS) as client:
        with pytest.raises(ServerError) as caught:
            await client.read_resource(uri)
    assert (caught.value.code, caught.value.data) == (code, {"uri": uri})


async def test_form_and_link_are_asked_in_one_round(over: Over) -> None:
    asked: list[FormRequest | UrlRequest] = []

    async def answer(question: FormRequest | UrlRequest) -> ElicitationAnswer:
        asked.append(question)
        return Accept() if isinstance(question, UrlRequest) else {"pin": "1234"}

    async with reachable(over, CARRIERS) as connect, connect(elicitation=answer) as client:
        opened = await client.read_resource("vault://gold")
    assert opened.text == "gold was opened by 1234"
    assert {type(question) for question in asked} == {FormRequest, UrlRequest}
    assert {question.target for question in asked} == {"vault://gold"}


async def test_refusals_reach_their_resource() -> None:
    async def refuse(question: FormRequest | UrlRequest) -> ElicitationAnswer:
        return Decline() if isinstance(question, UrlRequest) else Cancel()

    async with our_client(CARRIERS, elicitation=refuse) as client:
        closed = await client.read_resource("vault://gold")
    assert closed.text == "gold stays closed: cancel, decline"


async def test_polls_lead_to_the_contents(over: Over) -> None:
    async with reachable(over, CARRIERS) as connect, connect() as client:
        assert (await client.read_resource("queue://bread")).text == "bread is ready"


async def test_read_goes_on_in_another_client(over: Over) -> None:
    async with reachable(over, CARRIERS) as connect:
        async with connect(elicitation=person()) as client:
            conversation = client.resource_conversation("vault://silver")
            assert isinstance(await conversation.advance(), Asked)
            stored = conversation.dump()
        async with connect(elicitation=person()) as client:
            result = await client.load(stored).advance(
                {"pin": Accept({"pin": "9876"}), "link": Accept()}
            )
    assert isinstance(result, ReadResourceResult)
    assert result.text == "silver was opened by 9876"
