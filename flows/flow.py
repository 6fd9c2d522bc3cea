"""A flow: the class that declares a machine, in the order in which things happen.

::

    @frozen
    class Provision(Flow[ProvisionArgs]):
        '''Provision a database. Asks which region to put it in.'''

        cloud: Cloud

        async def begin(self, args: ProvisionArgs) -> ChoosingRegion:
            return ChoosingRegion(args.name)

        @ChoosingRegion.answered
        async def region_chosen(self, at: ChoosingRegion, region: Region) -> Done[Database]:
            return Done(await self.cloud.create(at.database, region.name))

The class statement reads the graph from the decorators and the signatures, and refuses a wrong
machine with all its faults in one :class:`~antiphon.engine.errors.DefinitionError`.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, ClassVar, Generic, TypeVar

from ..engine.errors import DefinitionError
from ..engine.jsonrpc import JsonObject
from .diagram import mermaid, table
from .graph import Edge, Graph, read_graph
from .hints import argument_of
from .states import State

Args = TypeVar("Args")


class Flow(Generic[Args]):
    """Derive from ``Flow[Args]``, where ``Args`` is the attrs class of the tool's arguments.

    A subclass has an ``async def begin(self, args[, call])`` and a method for each edge, marked
    with the state's own decorator. Dependencies are ordinary fields. It must keep nothing
    between rounds: the state is the only thing that survives.

    Attributes:
        name: what clients call; by default the class's name in lower_case.
        title: a name for people.
        edges: every move that the flow can make, in the order in which they are reached.
        states: its states, in that order.
        needs: the client capabilities that its questions may call for.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str | None] = None
    args_type: ClassVar[type]
    graph: ClassVar[Graph]
    edges: ClassVar[tuple[Edge, ...]]
    states: ClassVar[tuple[type[State], ...]]
    needs: ClassVar[JsonObject]

    # attrs builds a slotted class twice, so this runs twice: it computes and never registers.
    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        args: Any = argument_of(cls, Flow)
        if isinstance(args, TypeVar):
            return  # a generic base, whose heirs are checked
        if args is None:
            fault = "it does not say what its arguments are: derive it from Flow[...]"
            raise DefinitionError(f"Flow {cls.__name__}", [fault])
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
        cls.args_type = args
        cls.graph = read_graph(cls, Flow, args)
        cls.edges = cls.graph.edges
        cls.states = cls.graph.states
        cls.needs = cls.graph.needs

    @classmethod
    def description(cls) -> str:
        """The class's own docstring, which is the tool's description."""
        return inspect.cleandoc(vars(cls).get("__doc__") or "")

    @classmethod
    def table(cls) -> str:
        """The graph as text, for a golden file: a change of the graph shows in review."""
        return table(cls.graph)

    @classmethod
    def mermaid(cls) -> str:
        """The graph as a Mermaid state diagram."""
        return mermaid(cls.graph)
