"""From a flow or a function to the entry of a registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, cast, get_args, get_origin, get_type_hints

import attrs
from attrs import frozen

from ..engine.by_hand import InputRequired
from ..engine.checks import refuse
from ..engine.completion import Complete
from ..engine.completion import options as suggest_options
from ..engine.errors import DefinitionError, UsageError
from ..engine.jsonrpc import JsonObject
from ..engine.limits import Limits
from ..engine.machine import Machine
from ..engine.prompts import PromptEntry
from ..engine.resources import ResourceEntry, TemplateEntry, is_absolute
from ..engine.schema import Validator, builder, check_defaults, derive
from ..engine.text_arguments import TextArguments
from ..engine.tools import ToolEntry
from ..engine.uri_templates import UriTemplate
from .flow import Flow
from .functions import Function, FunctionMachine, output_schema, read_signature
from .hints import members, unaliased
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
    needed,
    readable,
    sized,
    state_version_of,
)
from .machine import FlowMachine
from .preanswering import answering
from .result_faults import prompt_faults, resource_faults

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
    subject = f"{_NOUNS[decorator]} {name}"
    state_version_of(options, subject, by_hand=False)
    machine = FlowMachine(flow, name)
    return Source(
        subject,
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
    may_ask = decorator != "resource"
    signature = read_signature(function, subject, may_ask=may_ask)
    by_hand = may_ask and not signature.asks
    version = state_version_of(options, subject, by_hand=by_hand)
    machine: Machine
    if signature.asks:
        # No other function waits for it to be imported.
        from .ask_machine import AskMachine

        machine = AskMachine.of(name, function, signature)
    else:
        parameters, call_parameter = signature.parameters, signature.call_parameter
        machine = FunctionMachine(
            name, function, parameters, call_parameter, may_ask=may_ask, state_version=version
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
    early = answering(source.machine, options.get("preanswer", False), schema, subject)
    if early:
        members = cast(JsonObject, schema.get("properties", {}))
        schema["properties"] = {**members, **early}
    description: JsonObject = {
        **described(name, source.doc, source.options),
        "inputSchema": schema,
    }
    if output is not None:
        description["outputSchema"] = output
    return ToolEntry(
        source.machine,
        description | annotated(options),
        builder(source.args, subject=subject),
        Validator(schema, subject=f"The input schema of {name}"),
        Validator(output, subject=f"The output schema of {name}") if output else None,
        needs=needed(options, subject),
        answering=frozenset(early),
    )


def prompt(source: Source, options: Options, limits: Limits) -> PromptEntry:
    """The entry of a prompt.

    Raises:
        DefinitionError: an argument cannot be a text, or what it gives is no message.
    """
    refuse(source.subject, prompt_faults(source.results))
    arguments = TextArguments(source.args, subject=source.subject, limits=limits)
    description = described(source.machine.name, source.doc, source.options)
    if listed := arguments.described():
        description["arguments"] = [*listed]
    return PromptEntry(
        source.machine,
        description,
        arguments.read,
        _completers(source.args, arguments),
        needs=needed(options, source.subject),
    )


def resource(uri: str, source: Source, options: StaticOptions) -> ResourceEntry:
    """The entry of a resource.

    Raises:
        DefinitionError: its function takes arguments, or gives what no resource holds.
        UsageError: the uri is none.
    """
    subject = source.subject
    if not is_absolute(uri):
        raise UsageError(f"{subject}: {uri!r} is no absolute URI, such as config://app")
    refuse(subject, [*_of_a_template(source), *resource_faults(source.results)])
    named = described(source.machine.name, source.doc, source.options)
    return ResourceEntry(
        source.machine,
        {"uri": uri, **named, **readable(options), **sized(options)},
        caching(options),
        needs=needed(options, subject),
    )


def _of_a_template(source: Source) -> Iterator[str]:
    """What only a resource template can have."""
    if fields := attrs.fields(source.args):
        names = ", ".join(field.name for field in fields)
        yield f"it takes {names}, which only a resource template could give it"
    if InputRequired in [member for hint in source.results for member in members(hint)]:
        yield "it asks, which only a resource template may do"


def template(uri: str, source: Source, options: ResourceOptions, limits: Limits) -> TemplateEntry:
    """The entry of a template.

    Raises:
        DefinitionError: a variable is no argument, an argument no variable, or one that cannot
            be a text; or it gives what no resource holds.
    """
    parsed = UriTemplate.parse(uri)
    refuse(source.subject, resource_faults(source.results))
    arguments = TextArguments(source.args, subject=source.subject, limits=limits)
    _check_variables(parsed, source)
    named = described(source.machine.name, source.doc, source.options)
    return TemplateEntry(
        source.machine,
        {"uriTemplate": uri, **named, **readable(options)},
        parsed,
        arguments.read,
        caching(options),
        _completers(source.args, arguments),
        needs=needed(options, source.subject),
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
    faults += [
        f"argument {name!r} needs a default: a uri may leave out {{{name}}}, which is in its query"
        for name in parsed.optional
        if name in fields and fields[name].default is attrs.NOTHING
    ]
    if faults:
        raise DefinitionError(source.subject, faults)


def _completers(args: type, arguments: TextArguments) -> dict[str, Complete]:
    completers: dict[str, Complete] = {}
    for name, hint in get_type_hints(args, include_extras=True).items():
        if marked := list(_marks(hint)):
            completers[name] = marked[-1]
        elif (values := arguments.options(name)) is not None:
            completers[name] = suggest_options(values)
    return completers


def _marks(hint: object) -> Iterator[Complete]:
    """What marks a hint, or one of the types that it is a union of."""
    hint = unaliased(hint)
    for part in get_args(hint) if get_origin(hint) is not Literal else ():
        if isinstance(part, Complete):
            yield part
        else:
            yield from _marks(part)
