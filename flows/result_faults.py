"""Whether what a prompt or a resource says that it gives could be sent at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import NoneType
from typing import Any, Final, Literal, TypeAlias, get_args, get_origin

from ..engine.by_hand import InputRequired
from ..engine.content import BLOCKS
from ..engine.outcomes import Done, Failed
from ..engine.prompt_content import PromptMessage
from ..engine.resource_content import FOREIGN
from .hints import members, spoken

_Kinds: TypeAlias = tuple[type, ...]

_NO_RESULT: Final = frozenset[object]((Failed, InputRequired))
_LISTS: Final[_Kinds] = (list, tuple)
_MESSAGES: Final[_Kinds] = (str, *BLOCKS, PromptMessage)


def prompt_faults(results: Iterable[object]) -> Iterator[str]:
    """A sentence for each result type that holds no messages; what may be anything is left."""
    for hint in _ends(results):
        parts = _parts(hint)
        kinds = (*_MESSAGES, *_LISTS) if parts is None else _MESSAGES
        if not all(_may_be(part, kinds) for part in ([hint] if parts is None else parts)):
            yield (
                f"it gives {spoken(hint)}; a prompt gives text, a content block, a "
                "PromptMessage, or a list of these"
            )


def resource_faults(results: Iterable[object]) -> Iterator[str]:
    """A sentence for each result type that no resource can hold."""
    for hint in _ends(results):
        parts = _parts(hint)
        kinds = (*FOREIGN, NoneType) if parts is None else FOREIGN
        if any(_is_one_of(part, kinds) for part in ([hint] if parts is None else parts)):
            yield (
                f"it gives {'None' if hint is NoneType else spoken(hint)}; a resource gives text, "
                "bytes, ResourceContents, a list of these, or a value that is sent as JSON"
            )


def result_of(hint: Any) -> Any:  # noqa: ANN401  # a hint may be anything
    """What ``Done[...]`` carries, or the hint itself."""
    if (get_origin(hint) or hint) is not Done:
        return hint
    return next(iter(get_args(hint)), Any)


def _ends(results: Iterable[object]) -> Iterator[object]:
    for result in results:
        for end in members(result):
            if end not in _NO_RESULT:
                yield from members(result_of(end))


def _parts(hint: object) -> list[object] | None:
    """The types in a list, or None for what is none."""
    if (get_origin(hint) or hint) not in _LISTS:
        return None
    return [part for arg in get_args(hint) if arg is not ... for part in members(arg)]


def _may_be(hint: object, kinds: _Kinds) -> bool:
    """Whether a value of that type could be one of these kinds, as far as the type says."""
    if get_origin(hint) is Literal:
        return all(isinstance(option, kinds) for option in get_args(hint))
    cls: Any = get_origin(hint) or hint
    if cls is Any or not isinstance(cls, type):
        return True
    try:
        return any(issubclass(cls, kind) or issubclass(kind, cls) for kind in kinds)
    except TypeError:  # a protocol
        return True


def _is_one_of(hint: object, kinds: _Kinds) -> bool:
    cls: Any = get_origin(hint) or hint
    return isinstance(cls, type) and issubclass(cls, kinds)
