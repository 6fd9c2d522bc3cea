"""How what is registered is listed: names, titles, icons and hints."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, cast

from ..engine.display import Annotations, Icon, ToolAnnotations
from ..engine.errors import UsageError
from ..engine.jsonrpc import JsonObject, JsonValue
from ..engine.protocol import CacheScope
from ..engine.resources import Caching
from .flow import Flow


class Options(TypedDict, total=False):
    """What may be said of everything that is registered."""

    name: str
    """What clients say; by default the flow's ``name`` or the function's."""
    title: str
    """A name for people."""
    description: str
    """What it does, for models; by default the docstring."""
    icons: Sequence[Icon]
    """Pictures for a user interface."""
    meta: JsonObject
    """Its ``_meta`` in lists; keys have a prefix, such as ``com.example/team``."""
    needs: JsonObject
    """Capabilities without which a client is refused (-32021), such as ``{"sampling": {}}``."""


class ToolOptions(Options, total=False):
    """What may be said of a tool."""

    annotations: ToolAnnotations
    """Hints for hosts."""


class ResourceOptions(Options, total=False):
    """What may be said of a template of resources."""

    mime_type: str
    """Of the contents, where it is one for all."""
    annotations: Annotations
    """Hints for hosts."""
    ttl_ms: int
    """How long a client may keep what it has read, in milliseconds; 0 by default."""
    cache_scope: CacheScope
    """Whether what is read is the same for everybody; ``"private"`` by default."""


class StaticOptions(ResourceOptions, total=False):
    """What may be said of a resource."""

    size: int
    """Of the contents, in bytes."""


def check_options(options: Mapping[str, object], known: type, subject: str) -> None:
    """Refuse an option that is none.

    Raises:
        UsageError: it names the option and those that there are.
    """
    names = known.__annotations__.keys() | Options.__annotations__.keys()
    if unknown := sorted(options.keys() - names):
        raise UsageError(
            f"{subject}: {', '.join(unknown)} is no option; there are {', '.join(sorted(names))}"
        )


def described(name: str, doc: str, options: Options) -> JsonObject:
    """The members that all descriptions share."""
    whole: JsonObject = {
        "name": name,
        "title": options.get("title"),
        "description": options.get("description", doc) or None,
        "icons": _icons(options.get("icons", ())),
        "_meta": options.get("meta"),
    }
    return {member: value for member, value in whole.items() if value is not None}


def annotated(options: ToolOptions | ResourceOptions) -> JsonObject:
    """The hints, where there are any."""
    annotations = options.get("annotations")
    return {} if annotations is None else {"annotations": annotations.wire()}


def readable(options: ResourceOptions) -> JsonObject:
    """The members that resources and templates share."""
    members: JsonObject = annotated(options)
    if (mime_type := options.get("mime_type")) is not None:
        members["mimeType"] = mime_type
    return members


def caching(options: ResourceOptions, subject: str) -> Caching:
    """What a client may keep; raises UsageError for a negative time."""
    ttl_ms = options.get("ttl_ms", 0)
    if ttl_ms < 0:
        raise UsageError(f"{subject}: ttl_ms must not be negative")
    return Caching(ttl_ms, options.get("cache_scope", "private"))


def _icons(icons: Sequence[Icon]) -> list[JsonValue] | None:
    return [icon.wire() for icon in icons] or None


def flow_options(flow: Flow[Any], options: Options) -> Options:
    """The options, with what the flow says of itself."""
    own: Options = {"name": flow.name}
    if flow.title is not None:
        own["title"] = flow.title
    return cast("Options", {**own, **options})


def name_of(function: Callable[..., object], options: Options, decorator: str) -> str:
    """What a function is registered as.

    Raises:
        UsageError: it has no name, and none is given.
    """
    name = options.get("name") or getattr(function, "__name__", "")
    if not name:
        raise UsageError(f"{type(function).__name__} has no name; say server.{decorator}(name=...)")
    return name


def doc_of(function: Callable[..., object]) -> str:
    """A function's own docstring."""
    return inspect.getdoc(function) or ""
