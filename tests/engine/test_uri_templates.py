"""URI templates: what expands to a URI is what it is matched back to."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from uritemplate import URITemplate

from antiphon import Limits, ProtocolError, UsageError
from antiphon.engine.uri_syntax import MARKS, normal
from antiphon.engine.uri_templates import UriTemplate, check_uri

TEMPLATES = [
    "notes://{id}",
    "test://template/{id}/data",
    "file:///{+path}",
    "file:///{+path}/meta/{key}.json",
    "file:///{+path}{?q,r}",
    "file:///{+path}{#part}",
    "x://h{/a,b}/end",
    "x:{a}{.b,c}",
    "x:{;a,b}",
    "x:{a,b}",
    "x:{a}{?q}",
    "x:?fixed=1&y={a}{&q,r}",
    "x:{a}{#b}",
    "x:ü b/{a}-%7e",
    "x:{user}@{host}:{port}",
    "x:{self}/{user.name}",
]

TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1
) | st.text("a/.%2F?#&=+:@ {}", min_size=1)


def matching(template: str, uri: str) -> dict[str, str] | None:
    return UriTemplate.parse(template).match(uri)


def drawn_values(data: st.DataObject, template: UriTemplate) -> dict[str, str]:
    values = {name: data.draw(TEXTS, label=name) for name in template.variables}
    for name in template.optional:
        if data.draw(st.booleans()):
            del values[name]
    return values


@pytest.mark.parametrize("text", TEMPLATES)
@settings(max_examples=40)
@given(data=st.data())
def test_values_come_back_from_what_they_expand_to(text: str, data: st.DataObject) -> None:
    template = UriTemplate.parse(text)
    values = drawn_values(data, template)
    if "{.b" in text:
        values |= {name: values[name].replace(".", "-") for name in "bc"}
    assert template.match(template.expand(**values)) == values


def expanded(text: str, values: dict[str, str]) -> str:
    return URITemplate(text).expand({**values})


SAFE = st.text(string.ascii_letters + string.digits + "-_~ üé/", min_size=1)


@pytest.mark.parametrize("text", [text for text in TEMPLATES if "ü" not in text])
@settings(max_examples=40)
@given(data=st.data())
def test_what_rfc_6570_alone_expands_is_matched(text: str, data: st.DataObject) -> None:
    template = UriTemplate.parse(text)
    values = {name: data.draw(SAFE) for name in template.variables}
    assert template.match(expanded(text, values)) == values
    assert template.expand(**values) == expanded(text, values)


def canonical(uri: str) -> str:
    """One text for all that is documented as equivalent."""
    spelled = normal(uri)
    assert spelled is not None
    head, mark, query = spelled.partition("?")
    whole = head + mark + "&".join(sorted(query.split("&")))
    return "".join(f"%{ord(char):02X}" if char in MARKS else char for char in whole)


@pytest.mark.parametrize("text", TEMPLATES)
@settings(max_examples=40)
@given(tail=st.text("ab/.%2F7eé?#&=+:@,;-", max_size=30))
def test_what_matches_expands_to_an_equivalent_uri(text: str, tail: str) -> None:
    template = UriTemplate.parse(text)
    uri = text.partition("{")[0] + tail
    values = template.match(uri)
    if values is not None:
        assert canonical(template.expand(**values)) == canonical(uri)


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("notes://{id}", "notes://1", {"id": "1"}),
        ("notes://{id}", "notes://%C3%BC%20x", {"id": "ü x"}),
        ("notes://{id}", "notes://%c3%bc%20x", {"id": "ü x"}),
        ("notes://{id}", "notes://ü x", {"id": "ü x"}),
        ("notes://{id}", "notes://it's(1)!*", {"id": "it's(1)!*"}),
        ("notes://{id}", "notes://a@b.org", {"id": "a@b.org"}),
        ("notes://{id}", "notes://a%2Fb", {"id": "a/b"}),
        ("notes://{id}", "notes://..", {"id": ".."}),
        ("notes://{id}", "notes://%2e%2E", {"id": ".."}),
        ("notes://{id}", "notes://a%252Fb", {"id": "a%2Fb"}),
        ("notes://~me/{id}", "notes://%7Eme/1", {"id": "1"}),
        ("file:///{+path}", "file:///a/b.c", {"path": "a/b.c"}),
        ("file:///{+path}", "file:///a/../b", {"path": "a/../b"}),
        ("file:///{+path}", "file:///a?b#c", {"path": "a?b#c"}),
        ("file:///{+path}{?q}", "file:///a%3Fb?q=c", {"path": "a?b", "q": "c"}),
        ("x:{+path}/{name}.txt", "x:a/b/c.txt.txt", {"path": "a/b", "name": "c.txt"}),
        ("x:{name}{.ext}", "x:a.tar.gz", {"name": "a.tar", "ext": "gz"}),
        ("x:{?a,b}", "x:", {}),
        ("x:{?a,b}", "x:?b=2&a=", {"a": "", "b": "2"}),
        ("x:?v=1{&a,b}", "x:?v=1&b=2", {"b": "2"}),
    ],
)
def test_a_uri_gives_the_values(template: str, uri: str, values: dict[str, str]) -> None:
    assert matching(template, uri) == values


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("notes://{id}", "notes://"),
        ("notes://{id}", "notes://a/b"),
        ("notes://{id}", "notes://a?b"),
        ("notes://{id}", "notes://a#b"),
        ("notes://{id}", "notes://a&b"),
        ("notes://{id}", "note://a"),
        ("notes://{id}", "notes://%00"),
        ("notes://{id}", "notes://%FF"),
        ("notes://{id}", "notes://%ED%A0%80"),
        ("notes://{id}", "notes://%C0%AF"),
        ("notes://{id}", "notes://%"),
        ("notes://{id}", "notes://%2"),
        ("notes://{id}", "notes://%zz"),
        ("notes://{id}", "notes://a\n"),
        ("notes://{id}", "notes://\0"),
        ("notes://{id}", "notes://\ud800"),
        ("notes://{id}", "\nnotes://a"),
        ("x:{a}2F", "x:a%2F"),
        ("x:/{a}/data", "x:/data"),
        ("x:/{a}/data", "x:/1/data/"),
        ("file:///{+path}", "file:///a%2Fb"),
        ("file:///{+path}", "file:///"),
        ("file:///{+path}", "file:///a%00"),
        ("x:{name}{.ext}", "x:a%2"),
        ("x:{?a,b}", "x:?"),
        ("x:{?a,b}", "x:?a"),
        ("x:{?a,b}", "x:?a=1&"),
        ("x:{?a,b}", "x:?a=1&a=2"),
        ("x:{?a,b}", "x:?a=1&c=2"),
        ("x:{?a,b}", "x:?a=1&b=2&a=3"),
        ("x:{?a,b}", "x:?a=1+1"),
        ("x:{?a,b}", "x:?a=1=1"),
        ("x:{?a,b}", "x:?a=%FF"),
        ("x:{?a,b}", "x:&a=1"),
    ],
)
def test_what_no_values_expand_to_does_not_match(template: str, uri: str) -> None:
    assert matching(template, uri) is None


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("unit", ["/", "a", "%2F", "a/", ".", "&q=", "?", "/meta/", "é", "%", ","])
def test_a_long_hostile_uri_ends_in_an_answer(template: str, unit: str) -> None:
    bounds = Limits(uri_bytes=60_000)
    tail = unit * (50_000 // len(unit))
    uri = template.partition("{")[0] + tail
    found = UriTemplate.parse(template)
    assert found.match(f"{uri}\n", bounds) is None
    assert found.match(f"{uri}%ff", bounds) is None
    assert found.match(uri) is None


def test_a_uri_past_the_limit_is_refused_by_its_name() -> None:
    bounds = Limits(uri_bytes=10)
    assert UriTemplate.parse("x:{a}").match("x:" + 8 * "a", bounds) == {"a": 8 * "a"}
    assert UriTemplate.parse("x:{a}").match("x:" + 9 * "a", bounds) is None
    check_uri("x:" + 8 * "a", bounds)
    with pytest.raises(ProtocolError, match="11 characters; limit uri_bytes is 10"):
        check_uri("x:" + 9 * "a", bounds)


@pytest.mark.parametrize("uri", ["x:\n", "x:%", "x:%0", "x:\ud800", "x:\x7f"])
def test_a_uri_that_is_none_is_refused(uri: str) -> None:
    with pytest.raises(ProtocolError, match="The uri is none"):
        check_uri(uri)


# -- expanding --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "values", "uri"),
    [
        ("x:{a}", {"a": "ü/ %2F.~"}, "x:%C3%BC%2F%20%252F.~"),
        ("x:{+a}", {"a": "ü/ %2F.~"}, "x:%C3%BC/%20%252F.~"),
        ("x:{+a}{?b}", {"a": "1?2"}, "x:1%3F2"),
        ("x:{/a,b}", {"a": "1", "b": "2"}, "x:/1/2"),
        ("x:{;a}", {"a": "1"}, "x:;a=1"),
        ("x:{?a,b}", {}, "x:"),
        ("x:{?a,b}", {"b": ""}, "x:?b="),
        ("x:{#a}", {"a": "1/2"}, "x:#1/2"),
        ("x:ü {a}", {"a": "1"}, "x:%C3%BC%201"),
    ],
)
def test_values_are_expanded(template: str, values: dict[str, str], uri: str) -> None:
    assert UriTemplate.parse(template).expand(**values) == uri


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({}, "'a' needs a value"),
        ({"a": ""}, "'a' needs a value"),
        ({"a": "1", "b": "2.3"}, "'b' is a label, which holds no dot"),
        ({"a": "1", "b": "2", "c": "3"}, "has no variable c"),
        ({"a": 1, "b": "2"}, "is a int, not text"),
        ({"a": "\0", "b": "2"}, "holds NUL"),
        ({"a": "\ud800", "b": "2"}, "lone surrogate"),
    ],
)
def test_what_could_not_be_matched_back_is_not_expanded(values: dict[str, str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        UriTemplate.parse("x:{a}{.b}").expand(**values)


def test_variables_are_listed_in_order() -> None:
    template = UriTemplate.parse("x:{b}/{+a}{?d,c}")
    assert template.variables == ("b", "a", "d", "c")
    assert template.optional == ("d", "c")
    assert template == UriTemplate.parse(template.text)
    assert template != UriTemplate.parse("x:{b}")
