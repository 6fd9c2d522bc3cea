"""The suite's resources, and its template."""

from antiphon import Server
from tests.conformance.plain_tools import PNG


async def static_text() -> str:
    """Text that stays the same."""
    return "This is the content of the static text resource."


async def static_binary() -> bytes:
    """A picture that stays the same."""
    return PNG


async def watched_resource() -> str:
    """Text that somebody may wait for to change."""
    return "This is the content of the watched resource."


async def template_data(id: str) -> dict[str, str | bool]:
    """Some data, with the id that was asked for."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


def add_resources(server: Server) -> None:
    """Register them all."""
    server.resource(
        "test://static-text", mime_type="text/plain", ttl_ms=60_000, cache_scope="public"
    )(static_text)
    server.resource("test://static-binary", mime_type="image/png")(static_binary)
    server.resource("test://watched-resource", mime_type="text/plain")(watched_resource)
    server.resource_template("test://template/{id}/data", mime_type="application/json")(
        template_data
    )
