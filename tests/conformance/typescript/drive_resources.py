"""Resources and templates, one of which asks, and what completes their variables."""

from antiphon import Accept, Asked, Decline, FormRequest, ServerError, TemplateRef, UrlRequest
from antiphon.engine.asked import ElicitationAnswer
from antiphon.engine.client_messages import ReadResourceResult
from antiphon.engine.errors import INVALID_PARAMS
from tests.conformance.typescript.judging import Connect, equal, raising


async def _answer(question: FormRequest | UrlRequest) -> ElicitationAnswer:
    equal(question.target, "vault://gold")
    return {"pin": "1234"}


async def texts_and_bytes_are_read(connect: Connect) -> None:
    async with connect() as client:
        listed = {resource.uri: resource async for resource in client.list_resources()}
        catalogue = await client.read_resource("shelf://catalogue")
        [cover] = (await client.read_resource("shelf://cover")).contents
    equal(listed["shelf://catalogue"].mime_type, "text/markdown")
    equal(listed["shelf://books/dune"].name, "Dune")
    equal((catalogue.text, catalogue.ttl_ms), ("# Größe 名前", 60_000))
    equal(cover.mime_type, "image/png")
    equal(cover.data, bytes(at % 256 for at in range(100_000)))


async def templates_are_filled_in(connect: Connect) -> None:
    async with connect() as client:
        templates = {each.uri_template: each for each in await client.list_resource_templates()}
        dune = await client.read_resource("shelf://books/dune")
    equal(templates["shelf://books/{name}"].description, "A book.")
    equal(dune.text, "The text of dune")


async def what_is_not_there_is_an_error(connect: Connect) -> None:
    async with connect() as client:
        for uri in ("shelf://books/missing", "shelf://nowhere"):
            with raising(ServerError) as caught:
                await client.read_resource(uri)
            equal((caught.error.code, caught.error.data), (INVALID_PARAMS, {"uri": uri}))


async def a_resource_asks(connect: Connect) -> None:
    async with connect(elicitation=_answer) as client:
        equal((await client.read_resource("vault://gold")).text, "gold: opened by 1234")


async def a_refusal_reaches_its_resource(connect: Connect) -> None:
    async def decline(question: FormRequest | UrlRequest) -> ElicitationAnswer:
        return Decline()

    async with connect(elicitation=decline) as client:
        equal((await client.read_resource("vault://gold")).text, "gold: decline")


async def a_read_goes_on_in_another_client(connect: Connect) -> None:
    async with connect(elicitation=_answer) as client:
        conversation = client.resource_conversation("vault://silver")
        assert isinstance(await conversation.advance(), Asked)
        stored = conversation.dump()
    async with connect(elicitation=_answer) as client:
        result = await client.load(stored).advance({"pin": Accept({"pin": "9876"})})
    assert isinstance(result, ReadResourceResult)
    equal(result.text, "silver: opened by 9876")


async def variables_are_completed(connect: Connect) -> None:
    async with connect() as client:
        found = await client.complete(TemplateRef("shelf://books/{name}"), "name", "du")
    equal(found.values, ["dune"])
