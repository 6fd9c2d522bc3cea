"""The command line as it is read."""

import math
from collections.abc import Callable, Sequence

import pytest

from antiphon.engine.errors import UsageError
from antiphon.transports.cli_asking import Manner
from antiphon.transports.cli_options import read_call, read_list, read_prompt, read_read
from antiphon.transports.cli_resume import read_resume
from antiphon.transports.cli_serve_options import read_serve
from antiphon.transports.cli_values import Pair
from antiphon.transports.cli_watch import read_watch

URL = "https://mcp.example/mcp"


def test_a_call_has_a_target_a_tool_and_values_among_its_options() -> None:
    options = read_call(
        [URL, "--json", "add", "a=1", "--answer", "x=2", "b:=3", "--answer", "y=z", "--decline"]
    )
    assert options.connection.target == URL
    assert options.connection.json
    assert options.tool == "add"
    assert options.pairs == [Pair("a", "1"), Pair("b", "3", json=True)]
    assert options.answers == [Pair("x", "2"), Pair("y", "z")]
    assert options.manner == Manner(decline=True)


def test_a_target_may_stand_at_the_end_as_a_command() -> None:
    options = read_call(["add", "a=1", "--", "python", "server.py", "--json", "--", "x"])
    assert options.connection.target == ["python", "server.py", "--json", "--", "x"]
    assert options.tool == "add"
    assert not options.connection.json


def test_a_call_without_limits_waits_a_minute_for_each_request() -> None:
    connection = read_call([URL, "add"]).connection
    assert (connection.deadline, connection.timeout) == (math.inf, 60.0)
    connection = read_call([URL, "add", "--deadline", "2.5", "--timeout", "0"]).connection
    assert (connection.deadline, connection.timeout) == (2.5, None)


def test_headers_tokens_and_variables_are_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "secret-token")
    monkeypatch.setenv("PASSED", "secret-passed")
    words = [
        "--header",
        "X-A: b: c",
        "--token-env",
        "TOKEN",
        "--env",
        "A=secret-a",
        "--env",
        "PASSED",
    ]
    connection = read_list([URL, *words]).connection
    assert connection.headers == {"X-A": "b: c"}
    assert connection.token == "secret-token"
    assert connection.env == {"A": "secret-a", "PASSED": "secret-passed"}
    assert "secret" not in repr(connection)
    assert "b: c" not in repr(connection)


def test_arguments_can_be_one_object() -> None:
    assert read_call([URL, "add", "--arg-json", '{"a": [1]}']).whole == {"a": [1]}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "Which server"),
        ([" "], "Which server"),
        ([URL], "Which tool"),
        (["add", "--"], "After --"),
        (["--", "python"], "Which tool"),
        ([URL, "add", "a"], "key=value"),
        ([URL, "add", "--answer", "a"], "key=value"),
        ([URL, "add", "--arg-json", "[1]"], "a JSON object"),
        ([URL, "add", "--arg-json", "{"], "not valid JSON"),
        ([URL, "add", "--deadline", "soon"], "--deadline"),
        ([URL, "add", "--deadline", "-1"], "--deadline"),
        ([URL, "add", "--deadline", "nan"], "--deadline"),
        ([URL, "add", "--header", "X-A"], "Name: value"),
        ([URL, "add", "--token-env", "NOT_SET_ANYWHERE"], "NOT_SET_ANYWHERE"),
        ([URL, "add", "--env", "NOT_SET_ANYWHERE"], "NOT_SET_ANYWHERE"),
        ([URL, "add", "--nosuch"], "--nosuch"),
        ([URL, "add", "--dead", "1"], "--dead"),
    ],
)
def test_a_wrong_call_is_refused_with_a_reason(words: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        read_call(words)


def test_a_list_has_one_target() -> None:
    assert read_list(["python server.py"]).connection.target == "python server.py"
    with pytest.raises(UsageError, match="quoted"):
        read_list(["python", "server.py"])


def test_a_list_has_kinds() -> None:
    assert read_list([URL]).kinds == ("tools",)
    assert read_list([URL, "--resources", "--prompts"]).kinds == ["prompts", "resources"]
    assert read_list([URL, "--all"]).kinds == ()
    with pytest.raises(UsageError, match="keep one"):
        read_list([URL, "--all", "--tools"])


def test_a_prompt_has_a_name_and_texts() -> None:
    options = read_prompt([URL, "greet", "name=5", "tone=a=b", "--pause"])
    assert (options.name, options.arguments) == ("greet", {"name": "5", "tone": "a=b"})
    assert options.manner == Manner(pause=True)


def test_a_resource_has_one_uri() -> None:
    options = read_read([URL, "notes://today", "--output", "-"])
    assert (options.uri, options.output) == ("notes://today", "-")


def test_what_is_watched_are_lists_and_resources() -> None:
    assert list(read_watch([URL]).lists) == ["tools", "prompts", "resources"]
    options = read_watch(["notes://a", "--tools", "--count", "3", "--", "python", "server.py"])
    assert (list(options.lists), options.uris, options.count) == (["tools"], ["notes://a"], 3)
    assert read_watch([URL, "notes://a"]).lists == []


def test_what_is_resumed_has_an_id_and_perhaps_a_target() -> None:
    assert read_resume([]).id is None
    options = read_resume(["0123456789ab"])
    assert (options.id, options.connection.target) == ("0123456789ab", ())
    assert read_resume(["0123456789ab", URL]).connection.target == URL
    options = read_resume(["0123456789ab", "--again", "--", "python", "server.py"])
    assert options.connection.target == ["python", "server.py"]
    assert options.again


def test_log_messages_and_a_trace_are_asked_for() -> None:
    connection = read_call([URL, "add", "--log", "warning", "--trace"]).connection
    assert (connection.log, connection.trace) == ("warning", True)


@pytest.mark.parametrize(
    ("read", "words", "told"),
    [
        (read_call, [URL, "add", "--pause", "--decline"], "keep one"),
        (read_call, [URL, "add", "--log", "loud"], "--log"),
        (read_prompt, [URL], "Which prompt"),
        (read_prompt, [URL, "greet", "name"], "key=value"),
        (read_prompt, [URL, "greet", "name=a", "name=b"], "twice"),
        (read_read, [URL], "Which resource"),
        (read_read, [URL, "a:b", "c:d"], "one URI"),
        (read_read, [URL, "a:b", "--output", "x", "--json"], "keep one"),
        (read_watch, ["python", "server.py"], "quoted"),
        (read_watch, [URL, "--count", "0"], "--count"),
    ],
)
def test_other_wrong_commands_are_refused_with_a_reason(
    read: Callable[[Sequence[str]], object], words: list[str], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        read(words)


def test_serving_is_on_stdio_or_at_an_address() -> None:
    assert not read_serve(["m:server"]).http
    options = read_serve(["--http", "m:server", "--bind", "[::1]:0", "--path", "/x"])
    assert (options.bind, options.path) == ("[::1]:0", "/x")
    assert (options.workers, options.grace) == (1, 10.0)
    options = read_serve(["--http", "m:server", "--workers", "4", "--grace", "0"])
    assert (options.workers, options.grace) == (4, 0.0)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "MODULE:OBJECT"),
        (["m", "--bind", "localhost:1"], "--bind is for --http"),
        (["m", "--path", "/x"], "--path is for --http"),
        (["m", "--workers", "2"], "--workers is for --http"),
        (["m", "--grace", "2"], "--grace is for --http"),
        (["m", "--http", "--workers", "0"], "--workers"),
        (["m", "--http", "--workers", "two"], "--workers"),
        (["m", "--http", "--grace", "-1"], "--grace"),
    ],
)
def test_what_serving_does_not_take_is_told(words: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        read_serve(words)
