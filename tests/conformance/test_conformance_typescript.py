"""Runs with the TypeScript client and server count only where every check came to its end."""

import pytest
import trio

from tests.conformance.typescript import drive, drive_asks
from tests.conformance.typescript.judging import (
    PATIENCE,
    Connect,
    Judged,
    checks_of,
    connecting,
    equal,
    judge,
    raising,
)
from tests.conformance.typescript.runner import Check, read_checks, report

PASSED = '{"check": "tools/text", "ok": true, "told": ""}\n'
FAILED = '{"check": "tools/image", "ok": false, "told": "no image"}\n'


def test_each_line_is_a_check() -> None:
    assert read_checks(PASSED + FAILED + '{"checks": 2}\n') == [
        Check("tools/text", True, ""),
        Check("tools/image", False, "no image"),
    ]


@pytest.mark.parametrize("text", ["", PASSED, PASSED + '{"checks": 2}\n', '{"checks": 0}\n'])
def test_a_client_that_gave_up_is_no_success(text: str) -> None:
    with pytest.raises(ValueError, match="no end"):
        read_checks(text)


def test_the_report_counts_and_tells_what_failed() -> None:
    checks = [Check("tools/text", True, ""), Check("tools/image", False, "no image")]
    assert report("stdio", checks).splitlines() == [
        "typescript/stdio: 1 of 2 pass",
        "typescript/stdio/tools/image FAILS: no image",
    ]


# -- our client, and their server --------------------------------------------------------------

NOWHERE = connecting("http://127.0.0.1:1/mcp")


async def holds(connect: Connect) -> None:
    with raising(ZeroDivisionError) as caught:
        raise ZeroDivisionError("expected")
    equal(str(caught.error), "expected")


async def differs(connect: Connect) -> None:
    equal("this", "that")


async def raises_nothing(connect: Connect) -> None:
    with raising(ZeroDivisionError):
        pass


async def hangs(connect: Connect) -> None:
    await trio.sleep_forever()


async def test_a_check_that_holds_passes() -> None:
    assert await judge("it", holds, NOWHERE) == Check("it", True, "")


@pytest.mark.parametrize(
    ("check", "told"),
    [
        (differs, "'this' is not 'that'"),
        (raises_nothing, "without ZeroDivisionError"),
        (hangs, "TooSlowError"),
    ],
)
async def test_a_check_that_fails_or_hangs_tells_why(
    check: Judged, told: str, autojump_clock: trio.abc.Clock
) -> None:
    started = trio.current_time()
    outcome = await judge("it", check, NOWHERE)
    assert not outcome.passed
    assert told in outcome.told
    assert trio.current_time() - started in {0, PATIENCE}


def test_checks_are_what_a_room_shows() -> None:
    checks = dict(checks_of(drive_asks))
    assert checks["asks/a_model_answers"] is drive_asks.a_model_answers
    assert not [name for name in checks if name.startswith("asks/_")]


@pytest.mark.parametrize("driven", drive.SERVERS, ids=lambda driven: driven.name)
def test_no_two_checks_of_a_server_have_one_name(driven: drive.Driven) -> None:
    names = [name for name, _ in checks_of(*driven.rooms)]
    assert names
    assert len(set(names)) == len(names)
