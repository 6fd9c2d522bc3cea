"""The server as its author sees it: flows and functions are registered here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, Unpack, cast, overload

from ..engine.errors import UsageError
from ..engine.server import ServerCore
from . import listing
from .flow import Flow
from .functions import Function
from .listing import Options, ResourceOptions, StaticOptions, ToolOptions
from .registration import Source, of_flow, of_function, prompt, resource, template, tool

F = TypeVar("F", bound=Function)


class Server(ServerCore):
    """An MCP server; its arguments are those of :class:`~antiphon.engine.server.ServerCore`."""

    # -- tools --------------------------------------------------------------------------------

    @overload
    def tool(self, tool: Flow[Any], /, **options: Unpack[ToolOptions]) -> None: ...
    @overload
    def tool(self, tool: F, /) -> F: ...
    @overload
    def tool(self, /, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...
    def tool(
        self, tool: Flow[Any] | Function | None = None, /, **options: Unpack[ToolOptions]
    ) -> object:
        """Register a tool: ``server.tool(Provision(cloud))``, or ``@server.tool`` on a function.

        Args:
            tool: a flow object, or an ``async def`` function with typed parameters; a
                ``functools.partial`` of one, whose arguments no client sees; or an object whose
                ``__call__`` is one. The last two need a ``name=``.
            options: see :class:`~.listing.ToolOptions`.

        Raises:
            DefinitionError: a function's signature cannot be read, or values of options do not fit.
            UsageError: the name is taken, an option is none, or ``tool`` is neither flow nor
                function.
        """
        listing.check_options(options, ToolOptions, "server.tool")
        return _register(tool, "tool", options, partial(self._tool, options))

    def _tool(self, options: ToolOptions, source: Source) -> None:
        self.tools.add(tool(source, options))

    # -- prompts ------------------------------------------------------------------------------

    @overload
    def prompt(self, prompt: Flow[Any], /, **options: Unpack[Options]) -> None: ...
    @overload
    def prompt(self, prompt: F, /) -> F: ...
    @overload
    def prompt(self, /, **options: Unpack[Options]) -> Callable[[F], F]: ...
    def prompt(
        self, prompt: Flow[Any] | Function | None = None, /, **options: Unpack[Options]
    ) -> object:
        """Register a prompt: a flow object, or ``@server.prompt`` on a function.

        Its arguments are texts on the wire: parameters are ``str``, a ``Literal``, an enum or a
        number. It gives text, a content block, a ``PromptMessage``, or a list of these.

        Args:
            prompt: a flow object, or an ``async def`` function with typed parameters.
            options: see :class:`~.listing.Options`.

        Raises:
            DefinitionError: the signature cannot be read, an argument cannot be a text, what it
                gives is no message, or values of options do not fit.
            UsageError: the name is taken, an option is none, or it is neither flow nor function.
        """
        listing.check_options(options, Options, "server.prompt")
        return _register(prompt, "prompt", options, partial(self._prompt, options))

    def _prompt(self, options: Options, source: Source) -> None:
        self.prompts.add(prompt(source, options, self.limits))

    # -- resources ----------------------------------------------------------------------------

    def resource(self, uri: str, /, **options: Unpack[StaticOptions]) -> Callable[[F], F]:
        """Register a resource: ``@server.resource("config://app")`` on a function.

        The function takes nothing but a ``Call``, and gives text, bytes, ``ResourceContents``,
        a list of these, or a value that is sent as JSON. It cannot ask.

        Args:
            uri: what clients read, in this or another spelling: it goes before all templates.
            options: see :class:`~.listing.StaticOptions`.

        Raises:
            DefinitionError: the signature cannot be read, no resource can hold what it gives, or
                values of options do not fit.
            UsageError: the uri is taken, be it in another spelling, or is none; an option is none.
        """
        _check_uri(uri, "resource", "config://app")
        listing.check_options(options, StaticOptions, "server.resource")

        def register(function: F) -> F:
            _callable(function, "resource")
            self.resources.add(resource(uri, of_function(function, "resource", options), options))
            return function

        return register

    @overload
    def resource_template(
        self, uri: str, template: Flow[Any], /, **options: Unpack[ResourceOptions]
    ) -> None: ...
    @overload
    def resource_template(
        self, uri: str, /, **options: Unpack[ResourceOptions]
    ) -> Callable[[F], F]: ...
    def resource_template(
        self,
        uri: str,
        template: Flow[Any] | None = None,
        /,
        **options: Unpack[ResourceOptions],
    ) -> object:
        """Register a template: ``@server.resource_template("user://{id}")`` on a function, or
        with a flow object.

        Each variable of the template is a parameter of the function, or a field of the flow's
        arguments.

        Args:
            uri: an RFC 6570 template; see :class:`~antiphon.engine.uri_templates.UriTemplate`.
            template: a flow object.
            options: see :class:`~.listing.ResourceOptions`.

        Raises:
            DefinitionError: the template or the signature cannot be read, or they differ; no
                resource can hold what it gives; or values of options do not fit.
            UsageError: the template is taken or no text, or an option is none.
        """
        _check_uri(uri, "resource_template", "user://{id}")
        listing.check_options(options, ResourceOptions, "server.resource_template")
        return _register(
            template, "resource_template", options, partial(self._template, uri, options)
        )

    def _template(self, uri: str, options: ResourceOptions, source: Source) -> None:
        self.templates.add(template(uri, source, options, self.limits))


def _register(
    given: Flow[Any] | Function | None,
    decorator: str,
    options: Options,
    take: Callable[[Source], None],
) -> object:
    if given is None:
        return partial(_decorate, decorator, options, take)
    if isinstance(given, Flow):
        take(of_flow(cast("Flow[Any]", given), decorator, options))
        return None
    return _decorate(decorator, options, take, given)


def _decorate(decorator: str, options: Options, take: Callable[[Source], None], function: F) -> F:
    _callable(function, decorator)
    take(of_function(function, decorator, options))
    return function


def _check_uri(uri: object, decorator: str, example: str) -> None:
    # Without parentheses the decorator is given the function, and would register nothing.
    if not isinstance(uri, str):
        raise UsageError(
            f"server.{decorator} takes a uri first, not {uri!r}: write "
            f"@server.{decorator}({example!r})"
        )


def _callable(given: object, decorator: str) -> None:
    if inspect.isclass(given) or not callable(given):
        or_flow = "" if decorator == "resource" else "a flow object or "
        raise UsageError(
            f"server.{decorator} takes {or_flow}an async function, not {given!r}"
            + ("; make an object of the class" if inspect.isclass(given) else "")
        )
