"""The demonstration behind ``make demo``.

One call of ``provision`` is begun on two hypercorn workers, which are killed while a person
thinks about an answer, and finished by a server that has never heard of it. Then the same flow
over a stdio child, and a report that reports its progress.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import trio
from attrs import define, field
from rich.console import Console
from rich.markup import escape

from antiphon import FormRequest, UrlRequest, generate_key, open_child, open_client, open_http
from antiphon.engine.exchange import ClientTransport, OnNotification
from antiphon.engine.jsonrpc import JsonObject, Reply, Request, Success

ROOT = Path(__file__).parent.parent
say = partial(Console(highlight=False, soft_wrap=True).print)


@define
class Narrated:
    """A transport that tells each round that passes through it."""

    inner: ClientTransport
    name: str
    rounds: int = field(default=0, init=False)

    async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
        self.rounds += 1
        carried = request.params.get("requestState")
        say(f"\n[bold]Round {self.rounds}[/]  {escape(_spoken(request))}", end="")
        say(f"  [dim](with the sealed state, {len(str(carried))} bytes)[/]" if carried else "")
        reply = await self.inner.exchange(request, on_notification)
        if isinstance(reply, Success):
            _tell(reply.result)
        return reply


def _spoken(request: Request) -> str:
    return f"{request.method} {request.params.get('name')} {request.params.get('arguments')}"


def _tell(result: JsonObject) -> None:
    if result.get("resultType") != "input_required":
        content = result.get("structuredContent", result.get("content"))
        say(f"  [green]result[/]    {escape(str(content))}")
        return
    token = str(result.get("requestState", ""))
    kind = "questions" if "inputRequests" in result else "not ready"
    say(f"  [yellow]{kind}[/] and a sealed state of {len(token)} bytes: [dim]{token[:24]}...[/]")


def _answering(
    answers: dict[str, JsonObject], meanwhile: Callable[[], None] | None = None
) -> Callable[[FormRequest | UrlRequest], Awaitable[JsonObject]]:
    """A person who answers forms from a list, and a thing that happens while they think."""

    async def answer(question: FormRequest | UrlRequest) -> JsonObject:
        assert isinstance(question, FormRequest)
        given = answers[question.key]
        say(f"  [cyan]question[/]  {escape(question.message)}")
        for asked in question.fields:
            offer = " / ".join(str(choice.value) for choice in asked.choices)
            say(f"            {escape(asked.label)}: {escape(offer)}")
        if meanwhile is not None and question.key == "confirming_prod":
            await trio.to_thread.run_sync(meanwhile)
        say(f"  [cyan]answer[/]    {escape(str(given))}")
        return given

    return answer


ANSWERS: dict[str, JsonObject] = {
    "choosing_region": {"name": "prod"},
    "confirming_prod": {"sure": "yes"},
}


# -- over HTTP, across a crash ----------------------------------------------------------------


@define
class Deployment:
    """Two hypercorn workers behind one listening socket, with keys in common."""

    listener: socket.socket
    environment: dict[str, str]
    server: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        descriptor = self.listener.fileno()
        self.server = subprocess.Popen(
            [
                *(sys.executable, "-m", "hypercorn", "-k", "trio", "-w", "2"),
                *("--bind", f"fd://{descriptor}", "--log-level", "ERROR"),
                "examples.provision:app",
            ],
            cwd=ROOT,
            env=self.environment,
            pass_fds=[descriptor],
            start_new_session=True,  # so that one signal reaches the workers too
        )

    def kill(self) -> None:
        if self.server is None:
            return
        os.killpg(self.server.pid, signal.SIGKILL)
        self.server.wait()
        # The workers are not ours to wait for: look until they are gone, connections and all.
        with suppress(ProcessLookupError):
            for _ in range(50):
                os.killpg(self.server.pid, 0)
                time.sleep(0.02)

    def replace(self) -> None:
        """Everything that has seen the call dies; what starts has seen nothing."""
        self.kill()
        say("  [red]SIGKILL[/]   to both workers, while the person thinks")
        self.start()
        say("  [red]start[/]     of a fresh server with the same key and no memory")


@contextmanager
def _deployed() -> Generator[Deployment, None, None]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.set_inheritable(True)
        keys = {"ANTIPHON_KEYS": generate_key()}
        deployment = Deployment(listener, {**os.environ, **keys})
        deployment.start()
        try:
            yield deployment
        finally:
            deployment.kill()


async def across_a_crash() -> None:
    say("\n[bold underline]1. Two HTTP workers, killed between two rounds[/]")
    with _deployed() as deployment:
        url = f"http://127.0.0.1:{deployment.listener.getsockname()[1]}/mcp"
        say(f"[dim]hypercorn -k trio -w 2 examples.provision:app   {url}[/]")
        person = _answering(ANSWERS, deployment.replace)
        async with (
            open_http(url) as http,
            open_client(Narrated(http, "HTTP"), elicitation=person) as client,
        ):
            result = await client.call_tool("provision", {"name": "orders"}, deadline=60)
    assert not result.is_error, result.text


# -- over stdio -------------------------------------------------------------------------------


def _child(example: str) -> list[str]:
    return [sys.executable, str(ROOT / "examples" / example)]


async def over_stdio() -> None:
    say("\n[bold underline]2. The same flow, a child on stdio[/]")
    async with (
        open_child(_child("provision.py")) as child,
        open_client(Narrated(child, "stdio"), elicitation=_answering(ANSWERS)) as client,
    ):
        result = await client.call_tool("provision", {"name": "orders"}, deadline=60)
    assert not result.is_error, result.text


async def with_progress() -> None:
    say("\n[bold underline]3. A slow report, with its progress[/]")

    def progress(done: float, total: float | None, message: str | None) -> None:
        filled = round(20 * done / (total or done or 1))
        say(f"  [magenta]progress[/]  {'█' * filled}{'░' * (20 - filled)} {message or ''}")

    arguments = {"title": "Quarter", "pages": 12}
    async with (
        open_child(_child("slow_report.py")) as child,
        open_client(Narrated(child, "stdio")) as client,
    ):
        result = await client.call_tool("slow_report", arguments, deadline=60, progress=progress)
    assert not result.is_error, result.text


async def main() -> None:
    await across_a_crash()
    await over_stdio()
    await with_progress()
    say("\n[bold green]Every call was finished.[/]")


if __name__ == "__main__":
    trio.run(main)
