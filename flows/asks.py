"""Functions with ``Ask`` parameters, seen as the flows that they are.

::

    @server.tool
    async def create(
        name: str,
        region: Annotated[Region, Ask("Where should it live?")],
        sure: Annotated[Sure, Ask(whether_sure)],
    ) -> Database:
        '''Create a database. Asks where.'''

    print(flow_of(create).table())
    step = await walk(flow_of(create), {"name": "orders"})
    step = await step.answer(Region("eu"))
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from ..engine.errors import UsageError
from ..engine.jsonrpc import JsonObject
from .ask_machine import AskMachine
from .ask_parameters import Ask
from .ask_states import Waiting
from .diagram import mermaid, table
from .functions import Function, read_signature
from .graph import Edge

__all__ = ["Ask", "AskFlow", "flow_of"]


@frozen
class AskFlow:
    """The flow that a function with ``Ask`` parameters makes.

    It is linear: a state for each round of questions. It holds as long as the functions that
    fill the parameters do not change their minds between asking and giving a value.
    """

    machine: AskMachine = field(repr=False)
    args_type: type = field(repr=False)

    @property
    def name(self) -> str:
        """The function's name."""
        return self.machine.name

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Every move that it can make, in the order in which they are reached."""
        return self.machine.graph.edges

    @property
    def states(self) -> tuple[type[Waiting], ...]:
        """Its states, in that order; each is named for the parameters that it may ask for."""
        return self.machine.graph.states

    @property
    def needs(self) -> JsonObject:
        """The client capabilities that its questions may call for."""
        return self.machine.graph.needs

    def table(self) -> str:
        """The graph as text, for a golden file: a change of the graph shows in review."""
        return table(self)

    def mermaid(self) -> str:
        """The graph as a Mermaid state diagram."""
        return mermaid(self)

    def arguments(self, given: Mapping[str, object]) -> object:
        """The function's own arguments, as a call carries them.

        Raises:
            UsageError: they are not those that it takes.
        """
        try:
            return self.args_type(**given)
        except TypeError as error:
            raise UsageError(f"The arguments of {self.name!r} do not fit: {error}") from None


def flow_of(function: Function) -> AskFlow:
    """The flow that a function with ``Ask`` parameters makes, whether it is registered or not.

    Raises:
        DefinitionError: all that is wrong with it, at once.
        UsageError: it has no ``Ask`` parameter.
    """
    name = getattr(function, "__name__", type(function).__name__)
    signature = read_signature(function, f"Function {name}")
    if not signature.asks:
        raise UsageError(f"{name} has no Ask parameter, and so makes no flow")
    return AskFlow(AskMachine.of(name, function, signature), signature.args)
