"""How what is registered is listed: names, titles, icons and hints."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, cast

from ..engine.checks import present, refuse, text_faults, unwrapped_partial
from ..engine.display import Annotations, Icon, ToolAnnotations
from ..engine.errors import UsageError
from ..engine.jsonrpc import JsonObject, JsonValue, dumps
from ..engine.protocol import CacheScope
from ..engine.resources import Caching
from .flow import Flow
from .option_faults import option_faults
from .preanswering import Preanswerable


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
    """Its ``_meta`` in lists; give keys a prefix, such as ``com.example/team``."""
    needs: JsonObject
    """Capabilities without which a client is refused (-32021), such as ``{"sampling": {}}``."""
    state_version: int
    """Of a function that asks by hand: the version of what it puts into
    ``InputRequired(state=...)``, 1 by default. States of another version are refused."""


class ToolOptions(Options, total=False):
    """What may be said of a tool."""

    annotations: ToolAnnotations
    """Hints for hosts."""
    preanswer: Preanswerable
    """Which questions a call may answer beforehand, by optional arguments: ``[ChoosingRegion]``,
    names of ``Ask`` parameters, or True for every form. A model answers them then, so leave out
    what a person has to confirm."""


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
    """Refuse an option that is none, and a value that does not fit.

    Raises:
        UsageError: it names the option and those that there are.
        DefinitionError: all values that are of the wrong kind.
    """
    names = known.__annotations__.keys() | Options.__annotations__.keys()
    if unknown := sorted(options.keys() - names):
        raise UsageError(
            f"{subject}: {', '.join(unknown)} is no option; there are {', '.join(sorted(names))}"
        )
    refuse(
        subject, option_faults(options, ToolAnnotations if known is ToolOptions else Annotations)
    )


def described(name: str, doc: str, options: Options) -> JsonObject:
    """The members that all descriptions share.

    Raises:
        UsageError: no JSON can say one of them, so that no list could be sent.
    """
    described_as = options.get("description")
    whole: JsonObject = {
        "name": name,
        "title": options.get("title"),
        "description": (doc if described_as is None else described_as) or None,
        "icons": _icons(options.get("icons") or ()),
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
    needs = options.get("needs") or {}
    if strange := [name for name, need in needs.items() if not isinstance(need, dict)]:
        raise UsageError(
            f"{subject}: needs are objects by name, such as {{'sampling': {{}}}}; "
            f"{', '.join(strange)} is none"
        )
    return needs


def state_version_of(options: Options, subject: str, *, by_hand: bool) -> int:
    """The version of what a function puts into ``InputRequired(state=...)``.

    Args:
        options: where it may be said.
        subject: what is registered.
        by_hand: whether it is such a function.

    Raises:
        UsageError: it is no version, or of no use.
    """
    version: object = options.get("state_version", 1)
    if "state_version" in options and not by_hand:
        raise UsageError(f"{subject}: state_version is for functions that ask by hand")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise UsageError(f"{subject}: state_version is none of 1, 2, 3, ...")
    return version


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


def sized(options: StaticOptions) -> JsonObject:
    """The size, where it is known."""
    size = options.get("size")
    return {} if size is None else {"size": size}


def caching(options: ResourceOptions) -> Caching:
    """What a client may keep."""
    return Caching(options.get("ttl_ms") or 0, options.get("cache_scope") or "private")


def _icons(icons: Sequence[Icon]) -> list[JsonValue] | None:
    return [icon.wire() for icon in icons] or None


def flow_options(flow: Flow[Any], options: Options) -> Options:
    """The options, with what the flow says of itself.

    Raises:
        DefinitionError: its name or its title is no text.
    """
    own_texts = {"name": flow.name, **present(title=flow.title)}
    refuse(f"Flow {type(flow).__name__}", text_faults(**own_texts))
    own: Options = {"name": flow.name}
    if flow.title is not None:
        own["title"] = flow.title
    return cast("Options", {**own, **present(**options)})


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
    """A function's own docstring; of an object that is called, what its ``__call__`` says."""
    written = unwrapped_partial(function)
    if inspect.isroutine(written):
        return inspect.getdoc(written) or ""
    return inspect.cleandoc(type(written).__call__.__doc__ or type(written).__doc__ or "")
