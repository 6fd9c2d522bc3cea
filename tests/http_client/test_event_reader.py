"""The event-stream standard, byte by byte."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engine.errors import InvalidReply
from antiphon.transports.events import EventReader


def read(*chunks: bytes, limit: int = 1000) -> list[bytes]:
    reader = EventReader(limit)
    return [data for chunk in chunks for data in reader.feed(chunk)]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_each_line_end_of_the_standard_ends_a_line(end: bytes) -> None:
    assert read(b"data: 1" + end + end + b"data: 2" + end + end) == [b"1", b"2"]


def test_line_ends_may_be_mixed() -> None:
    assert read(b"data: 1\r\n\ndata: 2\r\rdata: 3\n\r\n") == [b"1", b"2", b"3"]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_an_event_is_complete_with_the_byte_that_ends_it(end: bytes) -> None:
    """A live stream says nothing more after its reply, so nothing may be waited for."""
    last = (end + end)[: len(end) * 2 - (len(end) - 1)]
    assert read(b"data: 1" + last) == [b"1"]


def test_a_line_feed_in_the_next_chunk_belongs_to_the_carriage_return_before_it() -> None:
    assert read(b"data: 1\r", b"\ndata: 2\r", b"", b"\n\r", b"\n") == [b"1\n2"]


def test_comments_and_keep_alives_carry_nothing() -> None:
    assert read(b":\r\n\r\n: keep-alive\n\n:\n\ndata: 1\n: inside\n\n") == [b"1"]


@pytest.mark.parametrize(
    "empty", [b"data:\n\n", b"data\n\n", b"data: \n\n", b"\n\n\n", b"id: 7\n\n"]
)
def test_events_without_data_are_passed_over(empty: bytes) -> None:
    assert read(empty + b"data: 1\n\n") == [b"1"]


def test_events_of_an_unknown_type_are_passed_over() -> None:
    assert read(b"event: ping\ndata: x\n\ndata: 1\n\n") == [b"1"]
    assert read(b"data: x\nevent: ping\n\nevent: message\ndata: 1\n\n") == [b"1"]
    assert read(b"event: ping\n\ndata: 1\n\n") == [b"1"]
    assert read(b"event: ping\nevent:\ndata: 1\n\n") == [b"1"]


def test_unknown_fields_are_passed_over() -> None:
    assert read(b"retry: 5\nid: 3\nwhat: ever\ndata2: x\nDATA: x\ndata: 1\n\n") == [b"1"]


def test_data_lines_of_one_event_are_joined_by_line_feeds() -> None:
    assert read(b"data: {\ndata\ndata:  x\ndata: }\n\n") == [b"{\n\n x\n}"]


def test_only_one_space_after_the_colon_is_taken_away() -> None:
    assert read(b"data:1\n\ndata:  1\n\ndata:\t1\n\n") == [b"1", b" 1", b"\t1"]


def test_a_byte_order_mark_is_taken_away_at_the_start_alone() -> None:
    mark = b"\xef\xbb\xbf"
    assert read(mark + b"data: 1\n\n" + mark + b"data: 2\n\n") == [b"1"]
    assert read(mark[:1], mark[1:2], mark[2:], b"data: 1\n\n") == [b"1"]
    assert read(mark + b"\ndata: 1\n\n") == [b"1"]


def test_text_split_within_a_character_comes_out_whole() -> None:
    text = "größe 名前 🎵".encode()
    whole = b"data: " + text + b"\n\n"
    assert read(*(whole[at : at + 1] for at in range(len(whole)))) == [text]


def test_an_event_cut_off_by_the_end_never_comes() -> None:
    whole = b"data: 1\n\n"
    assert all(not read(whole[:cut]) for cut in range(len(whole)))


@given(
    st.lists(
        st.sampled_from(
            [
                b"data: a",
                b"data",
                b":c",
                b"event: x",
                b"event: message",
                b"\n",
                b"\r",
                b"\r\n",
                b"\xef",
            ]
        ),
        max_size=20,
    ),
    st.data(),
)
def test_where_the_stream_is_split_changes_nothing(
    pieces: list[bytes], data: st.DataObject
) -> None:
    whole = b"".join(pieces)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)))))
    bounds = [0, *cuts, len(whole)]
    parts = [whole[a:b] for a, b in pairwise(bounds)]
    assert read(*parts) == read(whole) == read(*(whole[i : i + 1] for i in range(len(whole))))


def test_data_of_exactly_the_limit_passes_and_one_byte_more_does_not() -> None:
    fits = b"data: " + b"x" * 10 + b"\n\n"
    assert read(fits, limit=10) == [b"x" * 10]
    assert read(*(fits[at : at + 1] for at in range(len(fits))), limit=10) == [b"x" * 10]
    with pytest.raises(InvalidReply, match="limit message_bytes, 10"):
        read(b"data: " + b"x" * 11 + b"\n\n", limit=10)


@pytest.mark.parametrize("endless", [b"x", b": comment", b"data: x\n", b"data\n"])
def test_an_endless_event_is_given_up_within_the_limit(endless: bytes) -> None:
    with pytest.raises(InvalidReply, match="limit message_bytes, 100"):
        read(*[endless] * 300, limit=100)


def test_any_number_of_events_within_the_limit_pass() -> None:
    assert len(read(*[b": note\n\ndata: xxxx\n\n"] * 1000, limit=10)) == 1000
