"""The ids and waiting times of events, read from a stream."""

from __future__ import annotations

import pytest

from antiphon.transports.events import EventReader


def read(*chunks: bytes) -> EventReader:
    reader = EventReader(1000)
    for chunk in chunks:
        list(reader.feed(chunk))
    return reader


@pytest.mark.parametrize(
    ("stream", "id"),
    [
        (b"", None),
        (b"data: x\n\n", None),
        (b"id: 1\n\n", b"1"),
        (b"id:1\ndata: x\n\n", b"1"),
        (b"id:  1 \n\n", b" 1 "),
        (b"id: 1\nid: 2\n\n", b"2"),
        (b"id: 1\n\ndata: x\n\n", b"1"),
        (b"id: 1\n\nid: 2\n", b"1"),
        (b"id: 1\n\nid\n\n", None),
        (b"id: 1\n\nid: 2\0\n\n", b"1"),
        (b"event: other\nid: 1\ndata: x\n\n", b"1"),
        (b"ID: 1\n\n", None),
    ],
)
def test_the_last_event_that_came_whole(stream: bytes, id: bytes | None) -> None:
    assert read(stream).last_id == id
    assert read(*[stream[i : i + 1] for i in range(len(stream))]).last_id == id


@pytest.mark.parametrize(
    ("stream", "seconds"),
    [
        (b"data: x\n\n", None),
        (b"retry: 1500\n", 1.5),
        (b"retry: 1500\n\nretry: 20\n\n", 0.02),
        (b"retry: 1500\nretry: soon\n", 1.5),
        (b"retry: -1\n", None),
        (b"retry: 1.5\n", None),
        (b"retry:\n", None),
        (b"retry: 0\n", 0.0),
        (b"retry: " + b"9" * 900 + b"\n", 999999999.999),
    ],
    ids=str,
)
def test_the_time_to_wait(stream: bytes, seconds: float | None) -> None:
    assert read(stream).retry == seconds
