"""An inbox: one process asks, and another answers, days later if need be.

``python examples/inbox.py ask orders`` calls a tool, puts what it asks into a file and ends.
``python examples/inbox.py list`` shows what waits there, and ``python examples/inbox.py answer ID
name=prod`` takes the answer and finishes the call; what is not on the command line is asked at
the terminal. All of them need the keys of server and inbox: ``export
ANTIPHON_KEYS="$(antiphon keygen)"``. The file is named by ``INBOX``.
"""

import json
import os
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import trio

from antiphon import AntiphonError, Asked, Conversation, Decline, FormRequest, Waiting, open_client
from antiphon.engine.asked_form import Field
from antiphon.engine.errors import printable
from antiphon.engine.store import ConversationStore
from antiphon.transports.store_sqlite import open_store

KEYS = os.environ.get("ANTIPHON_KEYS", "")
INBOX = os.environ.get("INBOX", "inbox.db")
SERVER = [sys.executable, str(Path(__file__).parent / "provision.py")]
WEEK = 7 * 24 * 3600.0


async def ask(store: ConversationStore, database: str) -> None:
    """Call the tool, and leave what it asks in the store."""
    async with open_client(SERVER, env={"ANTIPHON_KEYS": KEYS}) as client:
        conversation = client.conversation(
            "provision", {"name": database}, kinds=["form"], deadline=WEEK
        )
        async with store.keeping(conversation) as id:
            await go_on(conversation)
            tell(conversation, id)


async def answer(store: ConversationStore, id: str, given: Mapping[str, str] | None) -> None:
    """Answer what waits there, and whatever is asked next, as far as there are answers."""
    async with (
        open_client(SERVER, env={"ANTIPHON_KEYS": KEYS}) as client,
        store.resume(id, client) as conversation,
    ):
        try:
            while isinstance(conversation.step, Asked):
                questions = conversation.step.questions
                await go_on(
                    conversation, {key: await filled(questions[key], given) for key in questions}
                )
        except EOFError:
            print()  # nobody is there any more: the question stays in the inbox
        tell(conversation, id)


async def show(store: ConversationStore) -> None:
    """List what waits."""
    await store.expire()
    for call in await store.list():
        left = (
            "" if call.deadline is None else f", {(call.deadline - time.time()) / 3600:.0f} h left"
        )
        # Words of a server must not drive the terminal that shows them.
        about = call.fault or f"{call.name} of {call.server}"
        print(printable(f"{call.id} {about}{left}"))
        for asked in call.asked:
            print(f"    {printable(f'{asked.key}: {asked.message}')}")


async def go_on(
    conversation: Conversation[Any], answers: Mapping[str, object] | None = None
) -> None:
    """Advance until something is asked or the call is over."""
    step = await conversation.advance(answers)
    while isinstance(step, Waiting):
        await trio.sleep(step.after)
        step = await conversation.advance()


async def filled(question: object, given: Mapping[str, str] | None) -> object:
    """The answer to a form, from the command line or the terminal."""
    assert isinstance(question, FormRequest)
    if given is None:
        return Decline()
    print(printable(f"{question.server} asks: {question.message}"))
    return {field.name: await value(field, given) for field in question.fields}


async def value(field: Field, given: Mapping[str, str]) -> object:
    """The value of one field."""
    choices = " / ".join(str(choice.value) for choice in field.choices)
    text = given.get(field.name)
    if text is None:
        prompt = printable(f"{field.label} ({choices}):" if choices else f"{field.label}:") + " "
        text = await trio.to_thread.run_sync(input, prompt, abandon_on_cancel=True)
    return text if field.type == "string" else json.loads(text)


def tell(conversation: Conversation[Any], id: str) -> None:
    """Say where a call stands."""
    if conversation.done:
        result: Any = conversation.step
        print(printable(result.text))
    else:
        print(f"It asks; answer with: {Path(__file__).name} answer {id}")


async def main(command: str = "list", *words: str) -> None:
    async with open_store(INBOX, keys=KEYS.split()) as store:
        if command == "ask":
            await ask(store, *words)
        elif command == "answer":
            id, *pairs = words
            declined = pairs == ["--decline"]
            await answer(store, id, None if declined else dict(p.split("=", 1) for p in pairs))
        else:
            await show(store)


if __name__ == "__main__":
    try:
        trio.run(partial(main, *sys.argv[1:]))
    except AntiphonError as error:
        sys.exit(str(error))
