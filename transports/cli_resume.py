"""``antiphon resume``: go on with a call that was put away, or show those that were."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import attrs
import trio
from attrs import frozen

from ..engine.errors import UsageError
from ..engine.store import ConversationStore, StoredCall
from .cli_answers import Answers
from .cli_asking import Asker
from .cli_call import asked_for
from .cli_exits import EXITS, Exit
from .cli_forms import Paused
from .cli_options import ANSWERS, Called, add_answering, add_output, read_answers, read_manner
from .cli_parser import (
    TARGET,
    Connection,
    Parser,
    add_connection,
    read_connection,
    split_command,
    take_target,
)
from .cli_paused import (
    forget_targets,
    kept_target,
    paused_calls,
    paused_json,
    paused_text,
    tell_paused,
)
from .cli_results import deliver
from .cli_run import connected, deadline, print_out, surroundings, until_signalled
from .cli_screen import Screen
from .cli_show import as_json
from .cli_text import one_line

_ABOUT: Final = """\
Go on with a call that was put away by ctrl-Z or --pause, or show those that were. Its server is
found where it was, credentials apart: --token-env, --header and --env are given again, and
relative paths are those of the current directory.
"""
_UNCERTAIN: Final = (
    "An answer was on its way when the process of {id} ended, and may have arrived. --again sends"
    " it again, where that does no harm; --forget forgets the call"
)


@frozen(kw_only=True)
class ResumeOptions(Called):
    """What ``antiphon resume`` is asked to do; without an id it lists."""

    id: str | None
    forget: bool
    again: bool
    moved: bool


def resume_parser() -> Parser:
    """The parser of ``antiphon resume``."""
    parser = Parser(
        "antiphon resume",
        "antiphon resume [ID] [TARGET] [options]\n"
        "       antiphon resume ID [options] -- COMMAND [ARGUMENT ...]",
        _ABOUT,
        f"{TARGET}\n{ANSWERS}\n{EXITS}",
    )
    add = parser.add_argument
    add("words", nargs="*", metavar="ID TARGET", help="see below; without an ID all are listed")
    add("--forget", action="store_true", help="forget the call")
    add("--again", action="store_true", help="send an answer again that may have arrived")
    add("--moved", action="store_true", help="TARGET is the same server at another place")
    add_connection(parser)
    add_answering(parser)
    add_output(parser)
    return parser


def read_resume(argv: Sequence[str]) -> ResumeOptions:
    """Read the command line of ``antiphon resume``.

    Raises:
        UsageError: it is wrong.
    """
    words, command = split_command(argv)
    given = resume_parser().parse_intermixed_args(words)
    rest: list[str] = list(given.words)
    id = rest.pop(0) if rest else None
    if len(rest) + (command is not None) > 1:
        raise UsageError("antiphon resume takes an ID and one TARGET")
    if id is None and (given.forget or command is not None):
        raise UsageError("Which call? antiphon resume lists them with their IDs")
    return ResumeOptions(
        connection=read_connection(given, _given_target(rest, command)),
        answers=read_answers(given),
        manner=read_manner(given),
        output=given.output,
        id=id,
        forget=given.forget,
        again=given.again,
        moved=given.moved,
    )


def _given_target(rest: list[str], command: list[str] | None) -> str | Sequence[str]:
    """The target that was given; none where it is to be found where the call is kept."""
    return take_target(rest, command) if rest or command is not None else ()


def run_resume(options: ResumeOptions, *, debug: bool = False) -> int:
    """Go on with a paused call, forget it, or list all of them; the exit status."""
    id = options.id
    goes_on = id is not None and not options.forget
    asks = goes_on and not (options.manner.decline or options.manner.pause)
    with surroundings(debug=debug, interactive=asks) as (screen, desk):
        if id is None:
            return trio.run(until_signalled, partial(_list, options.connection))
        if options.forget:
            return trio.run(until_signalled, partial(_forget, id))
        asker = Asker(Answers(options.answers), screen, desk, options.manner)
        return trio.run(until_signalled, partial(_resume, id, options, asker, screen))


async def _list(connection: Connection) -> int:
    async with paused_calls() as store:
        await store.expire()
        calls = await store.list()
    forget_targets(but={call.id for call in calls})
    if connection.json:
        print_out(as_json([paused_json(call) for call in calls]))
    else:
        print_out("\n".join(map(paused_text, calls)) or "No call is put away")
    return Exit.OK


async def _forget(id: str) -> int:
    async with paused_calls() as store:
        await _find(store, id)
        await store.cancel(id)
        await _tidy(store)
    return Exit.OK


async def _resume(id: str, options: ResumeOptions, asker: Asker, screen: Screen) -> int:
    async with paused_calls() as store:
        call = await _find(store, id)
        if call.uncertain and not options.again:
            raise UsageError(_UNCERTAIN.format(id=id))
        connection = attrs.evolve(options.connection, target=_target(id, options))
        async with connected(connection, screen, elicitation=asker) as client:
            try:
                with deadline(connection.deadline):
                    async with store.resume(
                        id,
                        client,
                        again=options.again,
                        moved=options.moved,
                        progress=screen.progress,
                    ) as conversation:
                        result = await conversation.run()
            except Paused:
                tell_paused(await _find(store, id), screen, json=connection.json)
                return Exit.PAUSED
            screen.close()
            status = deliver(result, screen, json=connection.json, output=options.output)
        await _tidy(store)
    return asked_for(asker, screen, status)


def _target(id: str, options: ResumeOptions) -> str | Sequence[str]:
    target = options.connection.target or kept_target(id)
    if not target:
        raise UsageError(f"Where is its server? antiphon resume {id} TARGET says it")
    return target


async def _find(store: ConversationStore, id: str) -> StoredCall:
    for call in await store.list():
        if call.id == id:
            return call
    raise UsageError(f"No call is put away as {one_line(id)!r}; antiphon resume lists them")


async def _tidy(store: ConversationStore) -> None:
    forget_targets(but={call.id for call in await store.list()})
