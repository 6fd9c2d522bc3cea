"""A server behind HTTP/1.1: connections that are kept alive, one request at a time on each."""

import re
import selectors
import socket
from typing import Final

_STALL: Final = 30.0
_CHUNK: Final = 64 * 1024
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
_CLOSES: Final = re.compile(rb"\r\nconnection: *close\r\n", re.IGNORECASE)

_HEAD: Final = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
    b"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
    b"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: provision\r\n"
    b"Content-Length: %d\r\n\r\n"
)


class HttpWire:
    """As many connections as requests may be under way; a reply frees its connection.

    One that the server says it will close is replaced, as by any client of HTTP/1.1.
    """

    def __init__(self, pid: int, port: int, connections: int) -> None:
        self.pid = pid
        self._port = port
        self._ready = selectors.DefaultSelector()
        self._free = [self._connect() for _ in range(connections)]
        self._received: dict[socket.socket, bytes] = dict.fromkeys(self._free, b"")

    def _connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self._port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._ready.register(connection, selectors.EVENT_READ, connection)
        return connection

    def send(self, requests: list[bytes]) -> None:
        for request in requests:
            self._free.pop().sendall(_HEAD % (self._port, len(request)) + request)

    def receive(self) -> list[bytes]:
        replies: list[bytes] = []
        while not replies:
            events = self._ready.select(_STALL)
            if not events:
                raise RuntimeError(f"The server said nothing for {_STALL:g} seconds")
            for key, _ in events:
                replies += self._take(key.data)
        return replies

    def _take(self, connection: socket.socket) -> list[bytes]:
        data = connection.recv(_CHUNK)
        if not data:
            raise RuntimeError(f"The server closed: {self._received[connection]!r}")
        received = self._received[connection] + data
        head, end, body = received.partition(b"\r\n\r\n")
        length = _LENGTH.search(head + b"\r\n")
        if end and (length is None or not head.startswith(b"HTTP/1.1 200")):
            raise RuntimeError(f"The server answered {received!r}")
        if length is None or len(body) < int(length[1]):
            self._received[connection] = received
            return []
        # hypercorn ends a connection after 1000 requests, and says so in its last reply.
        if _CLOSES.search(head + b"\r\n"):
            connection = self._replaced(connection)
        self._received[connection] = b""
        self._free.append(connection)
        return [body]

    def _replaced(self, connection: socket.socket) -> socket.socket:
        self._ready.unregister(connection)
        del self._received[connection]
        connection.close()
        return self._connect()

    def close(self) -> None:
        for connection in self._received:
            connection.close()
        self._ready.close()
