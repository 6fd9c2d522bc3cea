"""What a host shows of something, or how it should treat it: icons, annotations, tool hints.

Each is checked when it is made, and all its faults are told at once. Specification:
server/resources, "Annotations"; server/tools, "Tool"; the schema's ``Icon``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from attrs import field, frozen

from .checks import kind_of, present, refuse, text_faults
from .jsonrpc import JsonObject, JsonValue

Role: TypeAlias = Literal["user", "assistant"]
ROLES: Final = ("user", "assistant")

_PART: Final = r"[A-Za-z0-9!#$&^_.+-]{1,127}"
_MIME_TYPE: Final = re.compile(rf"{_PART}/{_PART}( *;[\x20-\x7e]*)?")
_SIZE: Final = re.compile(r"[1-9][0-9]{0,5}x[1-9][0-9]{0,5}|any")
_VISIBLE: Final = re.compile(r"[\x21-\x7e]+")


def mime_type_faults(mime_type: object) -> list[str]:
    """What is wrong with a MIME type; RFC 6838, section 4.2."""
    if mime_type is None or (isinstance(mime_type, str) and _MIME_TYPE.fullmatch(mime_type)):
        return []
    return [f"mime_type {mime_type!r} is none; it looks like 'image/png'"]


def _given(**members: JsonValue) -> JsonObject:
    return {name: value for name, value in members.items() if value is not None}


def _listed(values: Iterable[str] | None) -> tuple[str, ...] | None:
    if values is None:
        return None
    # A text is a sequence of texts, so that no type checker finds the forgotten brackets.
    one = isinstance(values, str) or not isinstance(cast(object, values), Iterable)
    return (cast(str, values),) if one else tuple(values)


def _roles(values: Iterable[Role] | None) -> tuple[Role, ...] | None:
    return cast("tuple[Role, ...] | None", _listed(values))


@frozen
class Icon:
    """A picture for a user interface.

    Args:
        src: an ``https`` or ``http`` URL, or a ``data`` URI in Base64.
        mime_type: where the source does not say it well, such as ``"image/png"``.
        sizes: such as ``["48x48", "96x96"]``, or ``["any"]`` for what can be scaled; without
            them it fits everywhere.
        theme: the background that it is made for.

    Raises:
        DefinitionError: one of these is something else; all that is wrong is told.
    """

    src: str
    mime_type: str | None = None
    sizes: Sequence[str] | None = field(default=None, converter=_listed)
    theme: Literal["light", "dark"] | None = None

    def __attrs_post_init__(self) -> None:
        faults = text_faults(src=self.src) or _source_faults(self.src)
        faults += mime_type_faults(self.mime_type)
        faults += [
            f"size {size!r} is neither of the form '48x48' nor 'any'"
            for size in self.sizes or ()
            if not (isinstance(cast(object, size), str) and _SIZE.fullmatch(size))
        ]
        if self.theme not in (None, "light", "dark"):
            faults.append(f"theme {self.theme!r} is neither 'light' nor 'dark'")
        refuse("Icon", faults)

    def wire(self) -> JsonObject:
        """The JSON form."""
        sizes = None if self.sizes is None else cast("list[JsonValue]", list(self.sizes))
        return _given(src=self.src, mimeType=self.mime_type, sizes=sizes, theme=self.theme)


def icon_faults(icons: object) -> list[str]:
    """What is wrong with a list of icons."""
    listed = isinstance(icons, list | tuple)
    if listed and all(isinstance(icon, Icon) for icon in cast("Sequence[object]", icons)):
        return []
    return ["icons must be a list of icons, such as [Icon('https://example.com/icon.png')]"]


def _source_faults(src: str) -> list[str]:
    shown = src if len(src) <= 80 else f"{src[:80]}..."
    if not _VISIBLE.fullmatch(src):
        return [f"src {shown!r} has characters that no URI has; encode them"]
    if re.match("data:", src, re.IGNORECASE):
        head, comma, _ = src.partition(",")
        return [] if comma and head.endswith(";base64") else [f"src {shown!r} is not in Base64"]
    try:
        parts = urlsplit(src)
    except ValueError as error:
        return [f"src {shown!r} is no URL: {error}"]
    if parts.scheme in ("http", "https") and parts.hostname:
        return []
    return [f"src {shown!r} is no https or http URL, and no data URI"]


@frozen
class Annotations:
    """Hints on who something is for, how much it matters, and how old it is.

    Args:
        audience: who it is for: ``["user"]``, ``["assistant"]`` or both.
        priority: from 0, which is optional, to 1, which is needed.
        last_modified: text in ISO 8601, or a datetime with its time zone.

    Raises:
        DefinitionError: one of these is something else; all that is wrong is told.
    """

    audience: Sequence[Role] | None = field(default=None, converter=_roles)
    priority: float | None = None
    last_modified: str | datetime | None = None

    def __attrs_post_init__(self) -> None:
        faults = [
            f"audience {role!r} is neither 'user' nor 'assistant'"
            for role in self.audience or ()
            if role not in ROLES
        ]
        if self.priority is not None and not _is_share(self.priority):
            faults.append(f"priority {self.priority!r} is no number from 0 to 1")
        refuse("Annotations", [*faults, *_moment_faults(self.last_modified)])

    def wire(self) -> JsonObject:
        """The JSON form."""
        audience = None if self.audience is None else cast("list[JsonValue]", list(self.audience))
        return _given(
            audience=audience,
            priority=self.priority,
            lastModified=_moment(self.last_modified),
        )


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _moment_faults(moment: object) -> list[str]:
    if isinstance(moment, datetime):
        return [f"last_modified {moment} has no time zone"] if moment.utcoffset() is None else []
    if isinstance(moment, str):
        try:
            datetime.fromisoformat(moment)
        except ValueError:
            return [f"last_modified {moment!r} is not of the form '2025-01-12T15:00:58Z'"]
    elif moment is not None:
        return [f"last_modified must be text or a datetime, not {kind_of(moment)}"]
    return []


def _moment(moment: str | datetime | None) -> str | None:
    if isinstance(moment, datetime):
        return moment.isoformat().replace("+00:00", "Z")
    return moment


@frozen(kw_only=True)
class ToolAnnotations:
    """Hints on what a tool does; a client need not believe them, and no result depends on them.

    What is left out is taken as the protocol says: a tool that may destroy, that may do more
    when it is called again, and that deals with an open world.

    Args:
        title: a name for people.
        read_only: it changes nothing.
        destructive: it may do more than add; only where ``read_only`` is not set.
        idempotent: a second equal call changes nothing more; only where it is not read-only.
        open_world: it deals with what is outside, as a web search does.

    Raises:
        DefinitionError: the hints contradict each other, or one is neither true nor false.
    """

    title: str | None = None
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None

    def __attrs_post_init__(self) -> None:
        hints = ("read_only", "destructive", "idempotent", "open_world")
        faults = text_faults(**present(title=self.title))
        faults += [
            f"{hint} is {value!r}, neither True nor False"
            for hint in hints
            if (value := getattr(self, hint)) is not None and not isinstance(value, bool)
        ]
        if self.read_only is True and self.destructive is True:
            faults.append("what is read_only cannot be destructive")
        refuse("ToolAnnotations", faults)

    def wire(self) -> JsonObject:
        """The JSON form."""
        return _given(
            title=self.title,
            readOnlyHint=self.read_only,
            destructiveHint=self.destructive,
            idempotentHint=self.idempotent,
            openWorldHint=self.open_world,
        )
