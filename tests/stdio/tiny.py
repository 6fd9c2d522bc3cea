"""A server of the standard library alone, which starts fast and misbehaves on request."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

Params = dict[str, Any]

SEEN: list[Any] = []


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def say(message: Params) -> None:
    write(json.dumps(message) + "\n")


def reply(id: object, **result: object) -> None:
    say({"jsonrpc": "2.0", "id": id, "result": result})


def echo(id: object, params: Params) -> None:
    reply(id, params=params)


def seen(id: object, _: Params) -> None:
    reply(id, seen=[[message["method"], message.get("params")] for message in SEEN])


def pid(id: object, _: Params) -> None:
    reply(id, pid=os.getpid(), session=os.getsid(0))


def environment(id: object, _: Params) -> None:
    reply(id, names=sorted(os.environ), directory=os.getcwd())


def exit(id: object, params: Params) -> None:
    sys.stderr.write(params.get("words", ""))
    sys.stderr.flush()
    os._exit(params.get("status", 3))


def answer_and_exit(id: object, _: Params) -> None:
    reply(id, last=True)
    os._exit(0)


def kill(_: object, __: Params) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def shout(id: object, params: Params) -> None:
    for _ in range(params["bytes"] // 1024):
        sys.stderr.write("e" * 1023 + params["end"])
    sys.stderr.flush()
    reply(id)


def raw(_: object, params: Params) -> None:
    write(params["text"])


def huge(id: object, params: Params) -> None:
    before, after = params["around"]
    write(before)
    for _ in range(params["bytes"] // 1024):
        write("h" * 1024)
    write(after + "\n")


def deafen(id: object, _: Params) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    reply(id)
    while True:  # the end of the input is ignored as well
        time.sleep(60)


def mute(_: object, __: Params) -> None:
    os.close(1)
    time.sleep(60)


def stop_reading(_: object, __: Params) -> None:
    os.close(0)
    say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "deaf now"}})
    time.sleep(60)


def stall(_: object, __: Params) -> None:
    time.sleep(60)


def leave_a_child(id: object, _: Params) -> None:
    if os.fork() == 0:  # it holds every pipe open
        time.sleep(60)
        os._exit(0)
    os._exit(0)


def steps(id: object, params: Params) -> None:
    for step in range(params["count"]):
        progress = {"progressToken": params["_meta"]["progressToken"], "progress": step}
        say({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})
    reply(id)


METHODS: dict[str, Callable[[object, Params], None]] = {
    function.__name__: function
    for function in (
        *(echo, seen, pid, environment, exit, answer_and_exit, kill, shout, raw, huge),
        *(deafen, mute, stop_reading, stall, leave_a_child, steps),
    )
}

for line in sys.stdin:
    message = json.loads(line)
    SEEN.append(message)
    if "id" in message and message["method"] in METHODS:
        METHODS[message["method"]](message["id"], message.get("params", {}))
