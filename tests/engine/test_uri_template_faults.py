"""Templates that are malformed, or whose URIs could be read in two ways."""

import pytest

from antiphon import DefinitionError
from antiphon.engine.uri_templates import UriTemplate


def faults(template: str) -> tuple[str, ...]:
    with pytest.raises(DefinitionError) as caught:
        UriTemplate.parse(template)
    assert caught.value.subject == f"URI template {template!r}"
    return caught.value.faults


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ("", "does not begin with a scheme"),
        ("{+uri}", "does not begin with a scheme"),
        ("/a/{b}", "does not begin with a scheme"),
        ("x:/a", "it has no variable"),
        ("x:{a", "a brace has no partner"),
        ("x:a}{a}", "a brace has no partner"),
        ("x:{}", "'' is no name"),
        ("x:{a,}", "'' is no name"),
        ("x:{a b}", "'a b' is no name"),
        ("x:{a-b}", "'a-b' is no name"),
        ("x:{a=b}", "'a=b' is no name"),
        ("x:{%41}", "'%41' is no name"),
        ("x:{ü}", "'ü' is no name"),
        ("x:{a*}", "cannot be matched back with '*'"),
        ("x:{?a:3}", "cannot be matched back with ':3'"),
        ("x:{!a}", "operator '!', which means nothing"),
        ("x:{a}/{a}", "'a' stands in it 2 times"),
        ("x:{a}{?a}", "'a' stands in it 2 times"),
        ("x:\n{a}", "is nothing that a URI can hold"),
        ("x:%{a}", "is nothing that a URI can hold"),
        ("x:\ud800{a}", "is nothing that a URI can hold"),
        ("x:{?a}{&b}", "{&b} is a second query"),
        ("x:?a=1{?b}", "begins a query that has begun; write {&b}"),
        ("x:{&b}", "has not begun; write {?b}"),
        ("x:{?a}/b", "'/b' stands after the query"),
        ("x:{?a}{b}", "{b} stands after the query"),
    ],
)
def test_a_fault_is_told(template: str, told: str) -> None:
    (fault,) = faults(template)
    assert told in fault


@pytest.mark.parametrize(
    "template",
    [
        "x:{a}{b}",
        "x:{a}-{b}",
        "x:{a}.x.{b}",
        "x:{a}%20{b}",
        "x:{+a}/{+b}",
        "x:{+a,b}",
        "x:{+a}{b}",
        "x:{+a}.{b}",
        "x:{a}/{+b}/{c}-{d}",
        "x:{+a}/{c}/{+d}",
    ],
)
def test_two_variables_that_could_share_their_text_are_refused(template: str) -> None:
    (fault,) = faults(template)
    assert "cannot be told from" in fault


def test_all_faults_are_told_at_once() -> None:
    assert len(faults("{a*}{=b}{c d}}")) == 5
