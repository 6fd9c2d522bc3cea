"""A server of the standard library alone, which starts fast and misbehaves on request."""

import json
import os
import signal
import sys
import time

out = sys.stdout
NAME = sys.argv[1] if len(sys.argv) > 1 else ""


def say(message):
    out.write(json.dumps(message) + "\n")
    out.flush()


def reply(id, **result):
    say({"jsonrpc": "2.0", "id": id, "result": result})


def progress(token, step):
    params = {"progressToken": token, "progress": step}
    say({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


def serve(id, method, params):
    if method == "echo":
        reply(id, params=params)
    elif method == "pid":
        reply(id, pid=os.getpid(), group=os.getpgrp(), name=NAME)
    elif method == "environment":
        reply(id, names=sorted(os.environ), directory=os.getcwd())
    elif method == "exit":
        sys.stderr.write(params.get("words", ""))
        sys.stderr.flush()
        os._exit(params.get("status", 3))
    elif method == "answer_and_exit":
        reply(id, last=True)
        os._exit(0)
    elif method == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif method == "shout":
        end = "\n" if params["lines"] else ""
        text = "e" * 1023 + end + ("" if params["lines"] else "e")
        for _ in range(params["bytes"] // 1024):
            sys.stderr.write(text)
        sys.stderr.flush()
        reply(id)
    elif method == "raw":
        out.write(params["text"])
        out.flush()
    elif method == "huge":
        out.write('{"jsonrpc":"2.0","id":%d,"result":{"text":"' % id)
        for _ in range(params["bytes"] // 1024):
            out.write("h" * 1024)
        out.write('"}}\n')
        out.flush()
    elif method == "deafen":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        reply(id)
        while True:  # EOF is ignored as well
            time.sleep(60)
    elif method == "mute":
        os.close(1)
        time.sleep(60)
    elif method == "stop_reading":
        os.close(0)
        time.sleep(60)
    elif method == "linger":
        # A grandchild that holds every pipe open.
        if os.fork() == 0:
            time.sleep(60)
        reply(id)
        os._exit(0)
    elif method == "steps":
        for step in range(params["count"]):
            progress(params["_meta"]["progressToken"], step)
        reply(id)


seen = []
for text in sys.stdin:
    message = json.loads(text)
    seen.append(message)
    if message["method"] == "seen":
        reply(message["id"], seen=[[m["method"], m.get("params")] for m in seen])
    elif "id" in message:
        serve(message["id"], message["method"], message.get("params", {}))
