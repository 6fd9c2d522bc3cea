"""Ids of lines that cannot be decoded."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.transports.lines import TooLong
from antiphon.transports.salvage import may_be_reply, readable_id


@pytest.mark.parametrize(
    ("line", "id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"x","params":{"n":NaN}}', 7),
        (b'{"id":"7","jsonrpc":"2.0","method":"x","params":', "7"),
        (b' { "method" : "x" , "jsonrpc" : "2.0" , "id" : -3 , ', -3),
        (b'{"jsonrpc":"2.0","method":"x","params":{"n":1e999},"id":8}', 8),
        (b'{"result":{"n":NaN},"id":"a b","jsonrpc":"2.0"}', "a b"),
        (b'{"result":{"n":NaN},"jsonrpc":"2.0","id":9 } ', 9),
        (b'{"id":123456789012345678901234567890,"result":{', 123456789012345678901234567890),
    ],
)
def test_an_id_at_either_end_is_read(line: bytes, id: str | int) -> None:
    found = readable_id(line)
    assert found == id
    assert type(found) is type(id)


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b'"id":1',
        b'{"params":{"id":7}}',
        b'{"params":{"x":{"id":7},"y":',
        b'{"result":{"text":"\\"id\\":7}"}',
        b'{"result":{"text":"x","id":7}}',
        b'{"id":1.0,"result":{',
        b'{"id":007,"result":{',
        b'{"id":null,"result":{',
        b'{"id":true,"result":{',
        b'{"id":[],"result":{',
        b'{"id":"\\u0031","result":{',
        b'{"id":"\xff","result":{',
        b"plain words",
    ],
)
def test_an_id_anywhere_else_is_not(line: bytes) -> None:
    assert readable_id(line) is None


def test_the_ends_of_a_line_that_was_too_long_serve_as_well() -> None:
    assert readable_id(TooLong(9999, b'{"id":5,"result":{"t":"xx', b'xx"}}')) == 5
    assert readable_id(TooLong(9999, b'{"result":{"t":"xx', b'xx"},"id":"q"}')) == "q"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text() | st.just("id") | st.just("method"), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(
    members=st.dictionaries(
        st.sampled_from(["id", "jsonrpc", "method", "params", "result", "x"]), json_values
    ),
    compact=st.booleans(),
)
def test_what_is_read_is_what_the_message_says(members: dict[str, object], compact: bool) -> None:
    text = json.dumps(members, separators=(",", ":") if compact else None).encode()
    found = readable_id(text)
    assert found is None or (found == members["id"] and type(found) is type(members["id"]))


def test_a_line_that_names_a_method_first_is_no_reply() -> None:
    assert not may_be_reply(b'{"jsonrpc":"2.0","method":"notifications/message","params":{')
    assert not may_be_reply(b"Listening on port 8000")
    assert may_be_reply(b'{"jsonrpc":"2.0","result":{')
