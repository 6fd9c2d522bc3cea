"""The official example server of revision 2025-11-25: what it tells of changes."""

from typing import Final

from antiphon import ListChanged, ResourceUpdated
from antiphon.engine.changes import Watched
from tests.conformance.typescript.judging import Connect, equal

DUNE: Final = "demo://resource/dynamic/text/1"
MADE: Final = {"name": "a.gz", "data": "data:text/plain,Sand.", "outputType": "resourceLink"}


async def a_watched_resource_is_told_of(connect: Connect) -> None:
    async with connect() as client, client.subscribe(uris=[DUNE]) as changes:
        equal(changes.honoured, Watched(uris=(DUNE,)))
        await client.call_tool("toggle-subscriber-updates")
        equal(await anext(changes), ResourceUpdated(DUNE))


async def a_list_that_changes_is_told_of(connect: Connect) -> None:
    async with connect() as client, client.subscribe(resources=True) as changes:
        await client.call_tool("gzip-file-as-resource", MADE)
        equal(await anext(changes), ListChanged("resources"))
