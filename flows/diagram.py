"""The graph of a flow as text and as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ..engine.outcomes import Done, Failed
from .graph import Edge

_HEAD = ("state", "event", "to", "by")


class Drawn(Protocol):
    """What has edges."""

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Every move that can be made."""
        ...


def table(graph: Drawn) -> str:
    """A table with a row for each edge; columns are aligned, lines end without blanks."""
    rows = [_HEAD, *(_row(edge) for edge in graph.edges)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(lines) + "\n"


def _row(edge: Edge) -> tuple[str, str, str, str]:
    source = edge.source.__name__ if edge.source else "(begin)"
    return source, edge.event, edge.target.__name__, edge.handler or "(named end)"


def mermaid(graph: Drawn) -> str:
    """A Mermaid ``stateDiagram-v2``; ends that come without a handler are drawn too."""
    return "\n".join(["stateDiagram-v2", *_lines(graph)]) + "\n"


def _lines(graph: Drawn) -> Iterator[str]:
    for edge in graph.edges:
        source = edge.source.__name__ if edge.source else "[*]"
        yield f"    {source} --> {edge.target.__name__}: {edge.event}"
    for end in (Done, Failed):
        if any(edge.target is end for edge in graph.edges):
            yield f"    {end.__name__} --> [*]"
