"""A program without OpenTelemetry: nothing of it is imported, and nothing is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]

SERVED = dedent("""
    import trio
    from antiphon import Done, Server
    from antiphon.engine.exchange import Exchange
    from antiphon.engine.jsonrpc import Request
    from tests.engine.peer import KEY, meta
    from tests.engine.tools import Order

    async def main():
        server = Server("Shop", keys=[KEY])
        server.tool(Order())
        params = {"name": "order", "arguments": {"item": "ink", "count": 2}, "_meta": meta()}
        answers = ({"choosing_colour": {"name": "red"}}, {"confirming": {"sure": "yes"}})
        reply = await server.handle(Request(0, "tools/call", params), Exchange())
        for number, given in enumerate(answers, 1):
            responses = {key: {"action": "accept", "content": it} for key, it in given.items()}
            back = {"requestState": reply.result["requestState"], "inputResponses": responses}
            reply = await server.handle(Request(number, "tools/call", params | back), Exchange())
        print(reply.result["structuredContent"]["colour"])

    trio.run(main)
""")

ABSENT = "import sys\nsys.modules['opentelemetry'] = None\n"
UNUSED = "\nimport sys\nprint([name for name in sys.modules if name.startswith('opentelemetry')])\n"


def run(program: str) -> list[str]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_a_conversation_goes_its_way_where_opentelemetry_cannot_be_imported() -> None:
    assert run(ABSENT + SERVED) == ["red"]


def test_a_program_that_has_not_imported_opentelemetry_never_does() -> None:
    assert run(SERVED + UNUSED) == ["red", "[]"]
