"""The command line within this process: what needs no server."""

import pytest

from antiphon.transports.cli import main
from antiphon.transports.cli_exits import Exit


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nosuch\x1b[2J"], "There is no command 'nosuch'; they are call, prompt, read"),
        (["cal"], "There is no command 'cal'; do you mean call?"),
        (["--json"], "There is no command '--json'"),
        (["list", "ftp://x"], "http"),
        (["list", "localhost:8000/mcp"], "do you mean http://localhost:8000/mcp?"),
        (["call", "[::1]:8000", "add"], "do you mean http://[::1]:8000?"),
        (["call", "http://x", "add", "--token-env", "NOT_SET_ANYWHERE"], "NOT_SET_ANYWHERE"),
        (["call", "http://x", "add", "--env", "A=b"], "env means nothing for a URL"),
        (["call", "'", "add"], "cannot be split"),
        (["list", "--header", "A: b", "--", "server"], "headers means nothing for a command"),
        (["keygen", "5"], "unrecognized"),
        (["serve"], "MODULE:OBJECT"),
    ],
)
def test_a_wrong_command_line_is_told_in_one_line(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("antiphon: ")
    assert told in err
    assert err.count("\n") == 1


def test_without_a_command_the_usage_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: antiphon COMMAND")


@pytest.mark.parametrize(
    "name", ["call", "prompt", "read", "list", "watch", "resume", "serve", "keygen"]
)
def test_help_is_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    out, err = capsys.readouterr()
    assert f"antiphon {name}" in out
    assert err == ""


@pytest.mark.parametrize(
    "words", [["--help"], ["call", "--help"], ["watch", "--help"], ["serve", "--help"]]
)
def test_the_exit_statuses_are_in_the_help(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(words)
    out = capsys.readouterr().out
    for status in Exit:
        assert f"\n  {status:<4} " in out


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("antiphon 0.")


def test_what_nobody_thought_of_is_told_in_one_line_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise ZeroDivisionError("\x1b[31mby zero")

    monkeypatch.setattr("antiphon.engine.sealing.keys.generate_key", fail)
    assert main(["keygen"]) == 70
    assert capsys.readouterr().err == "antiphon: ZeroDivisionError: by zero\n"
