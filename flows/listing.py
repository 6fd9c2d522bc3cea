"""How what is registered is listed: names, titles, icons and hints."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, cast, get_args

from ..engine.display import Annotations, Icon, ToolAnnotations, mime_type_faults
from ..engine.errors import UsageError
from ..engine.jsonrpc import JsonObject, JsonValue, dumps
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
    """The members that all descriptions share.

    Raises:
        UsageError: no JSON can say one of them, so that no list could be sent.
    """
    whole: JsonObject = {
        "name": name,
        "title": options.get("title"),
        "description": options.get("description", doc) or None,
        "icons": _icons(options.get("icons", ())),
        "_meta": options.get("meta"),
    }
    members: JsonObject = {member: value for member, value in whole.items() if value is not None}
    try:
        dumps(members)
    except UsageError as error:
        raise UsageError(f"{name}: it cannot be listed: {error}") from None
    return members


def needed(options: Options, subject: str) -> JsonObject:
    """The capabilities without which a client is refused.

    Raises:
        UsageError: one of them is no object, as the protocol has them.
    """
    needs = options.get("needs", {})
    if strange := [name for name, need in needs.items() if not isinstance(need, dict)]:
        raise UsageError(
            f"{subject}: needs are objects by name, such as {{'sampling': {{}}}}; "
            f"{', '.join(strange)} is none"
        )
    return needs


def annotated(options: ToolOptions | ResourceOptions) -> JsonObject:
    """The hints, where there are any."""
    annotations = options.get("annotations")
    return {} if annotations is None else {"annotations": annotations.wire()}


def readable(options: ResourceOptions, subject: str) -> JsonObject:
    """The members that resources and templates share; raises UsageError for a bad MIME type."""
    members: JsonObject = annotated(options)
    if (mime_type := options.get("mime_type")) is not None:
        if faults := mime_type_faults(mime_type):
            raise UsageError(f"{subject}: {faults[0]}")
        members["mimeType"] = mime_type
    return members


def sized(options: StaticOptions, subject: str) -> JsonObject:
    """The size, where it is known; raises UsageError for a negative one."""
    if (size := options.get("size")) is None:
        return {}
    if size < 0:
        raise UsageError(f"{subject}: size must not be negative")
    return {"size": size}


def caching(options: ResourceOptions, subject: str) -> Caching:
    """What a client may keep; raises UsageError for a negative time or an unknown scope."""
    ttl_ms, scope = options.get("ttl_ms", 0), options.get("cache_scope", "private")
    if ttl_ms < 0:
        raise UsageError(f"{subject}: ttl_ms must not be negative")
    if scope not in get_args(CacheScope):
        raise UsageError(f"{subject}: cache_scope {scope!r} is neither 'public' nor 'private'")
    return Caching(ttl_ms, scope)


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
