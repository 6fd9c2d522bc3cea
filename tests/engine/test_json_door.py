"""What passes the JSON door, and what does not."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engine.errors import UsageError
from antiphon.engine.jsonrpc import InvalidJson, JsonValue, dumps, loads
from antiphon.engine.limits import Limits

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**60), 10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=25,
)


@given(JSON)
def test_any_json_value_comes_back_as_it_went(value: JsonValue) -> None:
    back = loads(dumps(value))
    assert back == value
    assert repr(back) == repr(value), "a number changed its kind"


@given(JSON, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_what_others_write_is_read(value: JsonValue, ascii: bool, indent: int | str | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii, indent=indent, allow_nan=False)
    assert loads(text.encode()) == value


@given(JSON)
def test_others_read_what_we_write_on_one_line(value: JsonValue) -> None:
    written = dumps(value)
    assert b"\n" not in written
    assert json.loads(written) == value


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_refused(data: bytes) -> None:
    try:
        value = loads(data)
    except InvalidJson:
        return
    assert loads(dumps(value)) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        '"open',
        "[1,]",
        '{"a":1,}',
        "{a:1}",
        "'a'",
        "01",
        "+1",
        ".5",
        "1.",
        "0x10",
        "nul",
        "True",
        "NaN",
        "[NaN]",
        "Infinity",
        "-Infinity",
        "1e400",
        "-1e400",
        '{"x":1e999}',
        "{} x",
        "{}{}",
        "1 2",
        "[] // why",
        '"\t"',
        '"\x00"',
        "\x00",
        '"\\x41"',
        "\ufeff{}",
        r'"\ud800"',
        r'"\udc80"',
        r'"\ud800A"',
        r'"\ud800\ud800"',
        r'{"\ud800":1}',
        r'{"a":"\udfff"}',
    ],
)
def test_what_is_no_strict_json_is_refused(text: str) -> None:
    with pytest.raises(InvalidJson, match="strict JSON"):
        loads(text.encode())


@pytest.mark.parametrize(
    "data",
    [
        b'"\xff"',
        b'"\xc3"',
        b'"\xc0\xaf"',
        b'"\xed\xa0\x80"',
        b'"\xf4\x90\x80\x80"',
        '{"größe":1}'.encode("latin-1"),
        "{}".encode("utf-16"),
        "{}".encode("utf-32-le"),
    ],
)
def test_what_is_no_utf_8_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidJson):
        loads(data)


@pytest.mark.parametrize("break_", ["\u2028", "\u2029", "\x85", "\x7f", "\u200b", "\ufeff"])
def test_unusual_characters_are_text_like_any_other(break_: str) -> None:
    assert loads(f'{{"a":"x{break_}y"}}'.encode()) == {"a": f"x{break_}y"}
    assert loads(dumps(break_)) == break_


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert loads(rb'"\ud83d\ude00"') == "😀"


def test_of_members_with_one_name_the_last_counts() -> None:
    assert loads(b'{"a":1,"b":2,"a":3}') == {"a": 3, "b": 2}


def test_numbers_keep_their_kind() -> None:
    assert repr(loads(b"[1, 1.0, 1E2, -0, 9007199254740993, 18446744073709551616]")) == (
        "[1, 1.0, 100.0, 0, 9007199254740993, 18446744073709551616]"
    )


@pytest.mark.parametrize("sign", ["", "-"])
def test_digits_are_bounded(sign: str) -> None:
    fits = sign + "1" * 400
    assert loads(fits.encode()) == int(fits)
    for digits in (401, 5000, 100_000):
        for shape in ("{}", "[[{}]]", '{{"a":{{"b":[{}]}}}}'):
            with pytest.raises(InvalidJson):
                loads(shape.format(sign + "1" * digits).encode())


def test_digits_in_text_are_not_counted() -> None:
    long = "1" * 5000
    assert loads(f'{{"{long}": "{long}"}}'.encode()) == {long: long}


def test_a_limit_that_was_passed_is_named() -> None:
    small = Limits(message_bytes=20, depth=3, digits=5)
    for data, name in ((b"[" * 21, "message_bytes"), (b"[[[[]]]]", "depth"), (b"123456", "digits")):
        with pytest.raises(InvalidJson, match=f"limit {name}"):
            loads(data, small)
    assert loads(b"[[[12345]]]", small) == [[[12345]]]


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_depth_is_bounded(opening: str, closing: str) -> None:
    def nested(depth: int) -> bytes:
        return (opening * depth + "0" + closing * depth).encode()

    loads(nested(64))
    for depth in (65, 500, 3000, 100_000):
        with pytest.raises(InvalidJson, match="limit depth 64"):
            loads(nested(depth))


def test_many_containers_side_by_side_are_not_deep() -> None:
    assert loads(b"[" + b",".join([b"{}"] * 5000) + b"]") == [{}] * 5000


def test_brackets_in_text_are_not_counted() -> None:
    text = "[{" * 500
    assert loads(dumps([text])) == [text]


def test_size_is_bounded() -> None:
    data = b'"' + b"a" * (4 * 1024 * 1024)
    with pytest.raises(InvalidJson, match="limit message_bytes"):
        loads(data + b'"')


def test_what_cannot_be_said_in_json_is_the_callers_mistake() -> None:
    for value in ("\ud800", {"\ud800": 1}, ["\udcff"]):
        with pytest.raises(UsageError, match="lone surrogate"):
            dumps(value)
    endless: list[object] = []
    endless.append(endless)
    foreign: list[object] = [object(), {(1, 2): 3}, endless]
    for thing in foreign:
        with pytest.raises(UsageError, match="cannot be sent as JSON"):
            dumps(thing)


def test_integers_of_any_size_are_written() -> None:
    for number in (2**53 + 1, 2**63, 2**64, -(10**300)):
        assert loads(dumps({"n": number})) == {"n": number}


def test_floats_are_written_as_python_reads_them() -> None:
    for number in (0.1, -0.0, 5e-324, 1.7976931348623157e308, 1e22):
        back = loads(dumps(number))
        assert isinstance(back, float)
        assert math.copysign(1.0, back) == math.copysign(1.0, number)
        assert back == number


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")], ids=str)
def test_what_json_cannot_say_of_a_number_is_not_sent_as_null(value: float) -> None:
    for holder in (value, [None, value], {"a": [{"b": value}]}):
        with pytest.raises(UsageError, match="NaN and infinities"):
            dumps(holder)
