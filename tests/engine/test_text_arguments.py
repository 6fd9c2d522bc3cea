"""Arguments that arrive as texts."""

import enum
from typing import Annotated, Any, Literal

import pytest
from attrs import field, frozen, validators

from antiphon import Email, Limits, Meta, choice_of
from antiphon.engine.text_arguments import TextArguments


class Tone(enum.StrEnum):
    WARM = "warm"
    COLD = "cold"


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"


@frozen
class Review:
    code: Annotated[str, Meta(title="Code", description="What to look at")]
    language: Literal["python", "go", "c"]
    tone: Tone
    level: Annotated[Level, Meta(description="How deep")] = Level.LOW
    lines: Annotated[int, Meta(ge=1, le=100)] | None = None
    ratio: float = 0.5
    strict: bool = False
    note: str | None = None


NEEDED = {"code": "x = 1", "language": "go", "tone": "cold"}
ARGUMENTS = TextArguments(Review, subject="Prompt review")


def read(**given: Any) -> Any:
    return ARGUMENTS.read({**NEEDED, **given})


def refused(arguments: TextArguments, given: dict[str, Any]) -> str:
    with pytest.raises(ValueError, match=r": |must be") as caught:
        arguments.read(given)
    return str(caught.value)


def test_arguments_are_described_as_the_protocol_says() -> None:
    assert ARGUMENTS.names == (
        "code",
        "language",
        "tone",
        "level",
        "lines",
        "ratio",
        "strict",
        "note",
    )
    described = {argument["name"]: argument for argument in ARGUMENTS.described()}
    assert described["code"] == {
        "name": "code",
        "title": "Code",
        "description": "What to look at",
        "required": True,
    }
    assert described["level"] == {"name": "level", "description": "How deep", "required": False}
    assert described["lines"] == {"name": "lines", "required": False}


def test_texts_become_the_fields() -> None:
    assert read() == Review("x = 1", "go", Tone.COLD)
    assert read(level="high", lines="7", ratio="-1.5e1", strict="true", note="") == Review(
        "x = 1", "go", Tone.COLD, Level.HIGH, 7, -15.0, True, ""
    )


@pytest.mark.parametrize("text", ["null", "none", "true", "5"])
def test_text_stays_text(text: str) -> None:
    assert read(note=text).note == text


def test_choices_are_offered_in_the_order_of_their_author() -> None:
    assert ARGUMENTS.options("language") == ["python", "go", "c"]
    assert ARGUMENTS.options("tone") == ["warm", "cold"]
    assert ARGUMENTS.options("level") == ["low", "high"]
    assert ARGUMENTS.options("code") is None
    assert ARGUMENTS.options("strict") is None
    assert ARGUMENTS.options("unheard of") is None


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"lines": "many"}, "lines: must be a whole number"),
        ({"lines": ""}, "lines: must be a whole number"),
        ({"lines": "1_0"}, "lines: must be a whole number"),
        ({"lines": "1.5"}, "lines: must be a whole number"),
        ({"lines": "null"}, "lines: must be a whole number"),
        ({"lines": "0"}, "lines: 0"),
        ({"lines": "101"}, "lines: 101"),
        (
            {"lines": "9" * 401},
            "lines: is longer than limit digits 400 (Limits(digits=...) raises it)",
        ),
        ({"ratio": "nan"}, "ratio: must be a number"),
        ({"ratio": "-inf"}, "ratio: must be a number"),
        ({"ratio": "1e400"}, "ratio: must be a number"),
        ({"strict": "perhaps"}, "strict: must be true or false"),
        ({"language": "perl"}, "language: "),
        ({"tone": "COLD"}, "tone: "),
        ({"code": None}, "code: must be sent as text"),
        ({"lines": 7}, "lines: must be sent as text"),
        ({"strict": True}, "strict: must be sent as text"),
        ({"note": ["a"]}, "note: must be sent as text"),
        ({"colour": "red"}, "colour: is no argument; there are code, language, tone"),
    ],
)
def test_what_does_not_fit_is_told(given: dict[str, Any], told: str) -> None:
    assert told in refused(ARGUMENTS, {**NEEDED, **given})


def test_all_faults_are_told_together() -> None:
    told = refused(ARGUMENTS, {"language": "perl", "lines": "x", "strict": 1, "colour": "red"})
    for fault in ("code: is missing", "tone: is missing", "language:", "lines:", "strict:"):
        assert fault in told
    assert "colour: is no argument" in told


def test_a_thousand_wrong_names_make_a_short_answer() -> None:
    told = refused(ARGUMENTS, {**NEEDED, **{f"{n}\n" + "x" * 5000: "" for n in range(1000)}})
    assert "and 995 more that are no arguments" in told
    assert len(told) < 2000
    assert "\n" not in told


def test_none_stands_for_an_optional_argument_without_a_default() -> None:
    @frozen
    class Sparse:
        a: int | None
        b: Literal["x"] | None

    arguments = TextArguments(Sparse, subject="Prompt sparse")
    assert arguments.read({}) == Sparse(None, None)
    assert arguments.read({"a": "1", "b": "x"}) == Sparse(1, "x")
    assert arguments.options("b") == ["x"]
    assert [argument["required"] for argument in arguments.described()] == [False, False]


def test_a_number_has_as_many_digits_as_the_limit_says() -> None:
    @frozen
    class Counted:
        n: int

    arguments = TextArguments(Counted, subject="Prompt", limits=Limits(digits=3))
    assert arguments.read({"n": "-999"}) == Counted(-999)
    assert "limit digits 3" in refused(arguments, {"n": "1000"})


def test_formats_and_titled_choices_hold_for_texts_too() -> None:
    @frozen
    class Mail:
        to: Email
        region: Annotated[str, choice_of({"eu": "Europe", "us": "America"})]

    arguments = TextArguments(Mail, subject="Prompt mail")
    assert arguments.options("region") == ["eu", "us"]
    assert arguments.read({"to": "a@b.org", "region": "eu"}) == Mail("a@b.org", "eu")
    told = refused(arguments, {"to": "nobody", "region": "mars"})
    assert "to: " in told
    assert "region: " in told


def test_what_the_class_itself_refuses_is_told() -> None:
    @frozen
    class Even:
        n: int = field(validator=validators.in_([2, 4]))

    assert "'n' must be in" in refused(TextArguments(Even, subject="Prompt"), {"n": "3"})


def test_there_may_be_no_arguments() -> None:
    @frozen
    class Nothing:
        pass

    arguments = TextArguments(Nothing, subject="Prompt")
    assert arguments.described() == []
    assert arguments.read({}) == Nothing()
    assert refused(arguments, {"a": ""}) == "a: is no argument; there are none"
