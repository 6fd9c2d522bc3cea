"""A server of an earlier revision as a process, that ends or keeps silent at a word it expects not.

Its arguments: a file that each start is written to, and how it takes what is no handshake. It
imports nothing of ours, so that it starts fast.
"""

import json
import os
import sys


def say(id: object, result: object) -> None:
    print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)


def offended(manner: str, lock: str | None) -> None:
    print("who is that?", file=sys.stderr, flush=True)
    if manner == "exits":
        sys.exit(1)
    if manner == "is killed":
        os.kill(os.getpid(), 9)
    if manner in ("closes its output", "holds a lock"):
        os.close(1)
        for _ in sys.stdin:
            pass
        if lock is not None:
            os.unlink(lock)
        os._exit(0)


def main(starts: str, manner: str) -> None:
    lock = f"{starts}.lock" if manner == "holds a lock" else None
    if lock is not None:
        # Taken for as long as it runs, and given back at the end of its input alone.
        os.open(lock, os.O_CREAT | os.O_EXCL)
    with open(starts, "a") as file:
        file.write(f"{os.getpid()}\n")
    greeted = False
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "initialize" and manner != "exits always":
            greeted = True
            info = {"name": "elder", "version": "1"}
            say(
                message["id"],
                {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info},
            )
        elif not greeted:
            offended("exits" if manner == "exits always" else manner, lock)
        elif "id" in message and "method" in message:
            say(message["id"], {"content": [{"type": "text", "text": str(os.getpid())}]})
    if lock is not None:
        os.unlink(lock)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
