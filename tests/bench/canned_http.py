"""A server behind bare sockets that says what one of the flow would: ``python -m ... FD``.

FD is a socket that listens. What is left to measure is the client: a request is searched for its
length, its id and what it asks, and the answer is one piece of bytes.
"""

import re
import socket
import sys
import threading
from typing import Final

from tests.bench.canned_replies import reply_to

_CHUNK: Final = 64 * 1024
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


def serve(connection: socket.socket) -> None:
    """Answer the requests of one connection until its client closes it."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    received = b""
    with connection:
        while data := connection.recv(_CHUNK):
            received += data
            head, end, body = received.partition(b"\r\n\r\n")
            length = _LENGTH.search(head + b"\r\n")
            if end and length is None:
                raise RuntimeError(f"The client sent {received!r}")
            if length is not None and end and len(body) >= int(length[1]):
                reply = reply_to(body)
                connection.sendall(_HEAD % len(reply) + reply)
                received = b""


def main(listener: socket.socket) -> None:
    """Serve each connection in a thread; a client that waits for its replies has but one."""
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
