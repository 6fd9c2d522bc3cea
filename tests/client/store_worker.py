"""Another process at a store: answers all that it can get, one after the other.

``python store_worker.py FILE OUT``: begins at the first line on standard input, writes the key of
every answer that its server served, one a line, to OUT. With ``die`` as a third argument it is
killed while its first answer is being served; with ``wait`` it stays, holding its first claim.
"""

import os
import signal
import sys
from pathlib import Path

import trio

from antiphon.engine.client import Client
from antiphon.engine.exchange import OnNotification
from antiphon.engine.jsonrpc import Reply, Request, Success
from antiphon.engine.store_errors import EntryError
from antiphon.transports.store_sqlite import open_store

FILE, OUT, *HOW = sys.argv[1:]


class Server:
    name = "scripted"

    async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
        answers = request.params["inputResponses"]
        assert isinstance(answers, dict)
        with Path(OUT).open("a") as out:  # noqa: ASYNC230
            out.write("".join(f"{key}\n" for key in answers))
        if HOW == ["die"]:
            os.kill(os.getpid(), signal.SIGKILL)
        return Success(request.id, {"content": []})


async def main() -> None:
    client = Client(Server())
    async with open_store(FILE, lease=3600) as store:
        print("ready", flush=True)
        await trio.to_thread.run_sync(sys.stdin.readline)
        for entry in await store.list():
            try:
                async with store.resume(entry.id, client) as conversation:
                    if HOW == ["wait"]:
                        print("holding", flush=True)
                        await trio.sleep_forever()
                    (key,) = (asked.key for asked in entry.asked)
                    await conversation.advance({key: {"name": "dev"}})
            except EntryError:
                continue


trio.run(main)
