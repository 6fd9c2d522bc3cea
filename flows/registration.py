"""From a flow or a function to the entry of a registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

import attrs
from attrs import frozen

from ..engine.completion import Complete, Completer
from ..engine.completion import options as suggest_options
from ..engine.errors import DefinitionError, UsageError
from ..engine.jsonrpc import JsonObject
from ..engine.machine import Machine
from ..engine.prompts import PromptEntry
from ..engine.resources import ResourceEntry, TemplateEntry
from ..engine.schema import Validator, builder, check_defaults, derive
from ..engine.text_arguments import TextArguments
from ..engine.tools import ToolEntry
from ..engine.uri_templates import UriTemplate
from .flow import Flow
from .functions import Function, FunctionMachine, output_schema, read_signature
from .listing import (
    Options,
    ResourceOptions,
    StaticOptions,
    ToolOptions,
    annotated,
    caching,
    described,
    doc_of,
    flow_options,
    name_of,
    readable,
)
from .machine import FlowMachine

_NOUNS: Final[Mapping[str, str]] = {
    "tool": "Tool",
    "prompt": "Prompt",
    "resource": "Resource",
    "resource_template": "Resource template",
}


@frozen
class Source:
    """A flow or a function, as what it is registered from.

    Attributes:
        subject: what it is, for messages.
        machine: what runs it.
        args: the attrs class of its arguments.
        results: the types that it gives; empty where it does not say.
        doc: its docstring.
        title: its own title.
    """

    subject: str
    machine: Machine
    args: type
    results: tuple[object, ...]
    options: Options
    doc: str


def of_flow(flow: Flow[Any], decorator: str, options: Options) -> Source:
    """Take a flow object."""
    said = flow_options(flow, options)
    name = said.get("name", flow.name)
    machine = FlowMachine(flow, name)
    return Source(
        f"{_NOUNS[decorator]} {name}",
        machine,
        flow.args_type,
        flow.graph.results,
        said,
        flow.description(),
    )


def of_function(function: Function, decorator: str, options: Options) -> Source:
    """Take a function; raises DefinitionError where its signature cannot be read."""
    name = name_of(function, options, decorator)
    subject = f"{_NOUNS[decorator]} {name}"
    signature = read_signature(function, subject)
    machine = FunctionMachine(
        name,
        function,
        signature.parameters,
        signature.call_parameter,
        may_ask=decorator != "resource",
    )
    results = () if signature.returns is None else (signature.returns,)
    return Source(subject, machine, signature.args, results, options, doc_of(function))


def tool(source: Source, options: ToolOptions) -> ToolEntry:
    """The entry of a tool.

    Raises:
        DefinitionError: its arguments or its result have no schema.
    """
    name, subject = source.machine.name, source.subject
    # Results of several types have no one schema that a client could check.
    output = output_schema(source.results[0], subject) if len(source.results) == 1 else None
    schema: JsonObject = {"additionalProperties": False, **derive(source.args, subject=subject)}
    check_defaults(schema, subject)
    description = {**described(name, source.doc, source.options), "inputSchema": schema}
    if output is not None:
        description["outputSchema"] = output
    return ToolEntry(
        source.machine,
        description | annotated(options),
        builder(source.args, subject=subject),
        Validator(schema, subject=f"The input schema of {name}"),
        Validator(output, subject=f"The output schema of {name}") if output else None,
        needs=options.get("needs", {}),
    )


def prompt(source: Source, options: Options) -> PromptEntry:
    """The entry of a prompt.

    Raises:
        DefinitionError: an argument cannot be a text.
    """
    arguments = TextArguments(source.args, subject=source.subject)
    description = described(source.machine.name, source.doc, source.options)
    if listed := arguments.described():
        description["arguments"] = [*listed]
    return PromptEntry(
        source.machine,
        description,
        arguments.read,
        _completers(source.args, arguments),
        needs=options.get("needs", {}),
    )


def resource(uri: str, source: Source, options: StaticOptions) -> ResourceEntry:
    """The entry of a resource.

    Raises:
        DefinitionError: its function takes arguments.
        UsageError: the uri is none.
    """
    if not uri.isascii() or ":" not in uri or not uri.isprintable() or " " in uri:
        raise UsageError(f"{source.subject}: {uri!r} is no absolute URI, such as config://app")
    if attrs.fields(source.args):
        names = ", ".join(field.name for field in attrs.fields(source.args))
        raise DefinitionError(
            source.subject, [f"it takes {names}, which only a resource template could give it"]
        )
    named = described(source.machine.name, source.doc, source.options)
    description: JsonObject = {"uri": uri, **named, **readable(options)}
    if (size := options.get("size")) is not None:
        description["size"] = size
    return ResourceEntry(
        source.machine,
        description,
        caching(options, source.subject),
        needs=options.get("needs", {}),
    )


def template(uri: str, source: Source, options: ResourceOptions) -> TemplateEntry:
    """The entry of a template.

    Raises:
        DefinitionError: a variable is no argument, an argument no variable, or one that cannot
            be a text.
    """
    parsed = UriTemplate.parse(uri)
    arguments = TextArguments(source.args, subject=source.subject)
    _check_variables(parsed, source)
    named = described(source.machine.name, source.doc, source.options)
    return TemplateEntry(
        source.machine,
        {"uriTemplate": uri, **named, **readable(options)},
        parsed,
        arguments.read,
        caching(options, source.subject),
        _completers(source.args, arguments),
        needs=options.get("needs", {}),
    )


def _check_variables(parsed: UriTemplate, source: Source) -> None:
    fields = {field.name: field for field in attrs.fields(source.args)}
    faults = [
        f"variable {{{name}}} of the template is no argument"
        for name in parsed.variables
        if name not in fields
    ]
    faults += [
        f"argument {name!r} is no variable of the template, and has no default"
        for name, field in fields.items()
        if name not in parsed.variables and field.default is attrs.NOTHING
    ]
    if faults:
        raise DefinitionError(source.subject, faults)


def _completers(args: type, arguments: TextArguments) -> dict[str, Completer]:
    completers: dict[str, Completer] = {}
    for name, hint in get_type_hints(args, include_extras=True).items():
        marks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        marked = [mark for mark in marks if isinstance(mark, Complete)]
        if marked:
            completers[name] = marked[-1].suggest
        elif (values := arguments.options(name)) is not None:
            completers[name] = suggest_options(values)
    return completers
