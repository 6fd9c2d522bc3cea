"""What cannot be registered as a resource or a template is refused in plain words."""

from __future__ import annotations

from typing import Any, Final

import pytest

from antiphon import Call, DefinitionError, InputRequired, UsageError
from tests.engine.offering import Essay, offering


async def plain() -> str:
    return ""


async def one_id(id: str) -> str:
    return id


@pytest.mark.parametrize(
    "uri",
    ["", "app", "/app", "://app", "config:", "1x://a", "config://a b", "config://é", "x://%zz"],
)
def test_a_uri_that_is_none_is_refused(uri: str) -> None:
    with pytest.raises(UsageError, match="is no absolute URI, such as config://app"):
        offering().resource(uri)(plain)


@pytest.mark.parametrize("uri", ["urn:isbn:1", "x://[::1]/a?b=%C3%A9#c", "file:///%7Ea", "X+1.-:y"])
def test_a_uri_is_taken_once(uri: str) -> None:
    server = offering()
    server.resource(uri)(plain)
    with pytest.raises(UsageError, match="is registered already"):
        server.resource(uri)(plain)


BAD_OPTIONS: Final[list[tuple[dict[str, Any], str]]] = [
    ({"annotation": 1}, "annotation is no option; there are annotations, cache_scope"),
    ({"ttl": 1}, "ttl is no option"),
    ({"ttl_ms": -1}, "ttl_ms must not be negative"),
    ({"cache_scope": "shared"}, "cache_scope 'shared' is neither 'public' nor 'private'"),
    ({"mime_type": "text"}, "mime_type 'text' is none"),
    ({"needs": {"roots": []}}, "needs are objects by name.*roots is none"),
    ({"description": "half \ud800"}, "cannot be listed"),
    ({"meta": {"a/b": object()}}, "cannot be listed"),
]


@pytest.mark.parametrize(
    ("options", "words"),
    [*BAD_OPTIONS, ({"size": -1}, "size must not be negative")],
)
def test_options_of_a_resource_that_do_not_fit_are_refused(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        offering().resource("x://y", **options)(plain)


@pytest.mark.parametrize(("options", "words"), [*BAD_OPTIONS, ({"size": 1}, "size is no option")])
def test_options_of_a_template_that_do_not_fit_are_refused(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        offering().resource_template("x://{id}", **options)(one_id)


def test_a_resource_takes_no_arguments() -> None:
    with pytest.raises(
        DefinitionError, match="it takes id, which only a resource template could give it"
    ):
        offering().resource("x://y")(one_id)


async def asks() -> str | InputRequired:
    return InputRequired({})


async def asks_for_an_id(id: str, call: Call[Any]) -> str | InputRequired:
    return InputRequired({})


def test_a_resource_that_says_that_it_asks_is_refused() -> None:
    with pytest.raises(DefinitionError, match="it asks, which only a resource template may do"):
        offering().resource("x://y")(asks)


def test_all_that_only_a_template_can_have_is_told_at_once() -> None:
    with pytest.raises(DefinitionError) as caught:
        offering().resource("x://y")(asks_for_an_id)
    assert len(caught.value.faults) == 2


def test_a_resource_cannot_be_a_flow() -> None:
    decorate: Any = offering().resource("x://y")
    with pytest.raises(UsageError, match="takes an async function, not"):
        decorate(Essay())


@pytest.mark.parametrize("thing", [5, "text", dict, None])
def test_what_is_neither_flow_nor_function_is_no_template(thing: Any) -> None:
    decorate: Any = offering().resource_template("x://{id}")
    with pytest.raises(UsageError, match="takes a flow object or an async function"):
        decorate(thing)


async def other_name(name: str) -> str:
    return name


async def with_default(id: str, language: str = "en") -> str:
    return id + language


def test_variables_and_parameters_must_be_the_same() -> None:
    with pytest.raises(DefinitionError) as caught:
        offering().resource_template("x://{id}")(other_name)
    assert caught.value.faults == (
        "variable {id} of the template is no argument",
        "argument 'name' is no variable of the template, and has no default",
    )
    with pytest.raises(DefinitionError, match=r"variable .topic. of the template is no argument"):
        offering().resource_template("x://{topic}", Essay())


def test_a_parameter_with_a_default_need_be_no_variable() -> None:
    server = offering()
    server.resource_template("x://{id}")(with_default)
    assert len(server.templates) == 1


@pytest.mark.parametrize("template", ["x://{id", "x://{id*}", "x://{id}{id}", "x://{+id}{/id}"])
def test_a_template_that_cannot_be_matched_back_is_refused(template: str) -> None:
    with pytest.raises(DefinitionError):
        offering().resource_template(template)(one_id)


def test_a_template_is_taken_once() -> None:
    server = offering()
    server.resource_template("x://{id}")(one_id)
    with pytest.raises(UsageError, match=r"A resource template named .* is registered already"):
        server.resource_template("x://{id}")(one_id)
