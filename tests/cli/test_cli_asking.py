"""Who answers at the command line: what stands on it, then the person, then nobody."""

from io import StringIO
from typing import Any

import pytest
import trio

from antiphon.engine.asked import Accept, Cancel, Decline
from antiphon.transports.cli_answers import Answers
from antiphon.transports.cli_asking import Asker, Manner
from antiphon.transports.cli_forms import Paused
from antiphon.transports.cli_screen import Screen
from antiphon.transports.cli_values import split_pair
from tests.cli.person import Person, form, link

ANYTHING: dict[str, Any] = {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 1}}
URL = "https://accounts.example/"


def asker(*answers: str, person: Person | None = None, **manner: bool) -> tuple[Asker, StringIO]:
    told = StringIO()
    pairs = [split_pair(answer) for answer in answers]
    return Asker(Answers(pairs), Screen(told), person, Manner(**manner)), told


async def test_what_is_not_answered_is_kept_where_it_is_said_to() -> None:
    ask, told = asker("name=x", person=Person([]), pause=True)
    assert await ask(form(ANYTHING)) == Accept({"name": "x"})
    with pytest.raises(Paused):
        await ask(link(URL))
    assert told.getvalue() == ""


async def test_a_person_keeps_a_question_and_nothing_is_said_of_it() -> None:
    person = Person([Paused()])
    ask, _ = asker(person=person)
    with pytest.raises(Paused):
        await ask(form(ANYTHING))
    assert not {"You declined.", "You cancelled."} & set(person.read)


# -- the command line -------------------------------------------------------------------------


async def test_a_form_that_is_answered_whole_asks_nobody() -> None:
    ask, told = asker("name=x", "age=5", person=Person([]))
    assert await ask(form(ANYTHING, required=["name"])) == Accept({"name": "x", "age": 5})
    assert not ask.unanswered
    assert told.getvalue() == ""


async def test_what_is_optional_or_has_a_default_can_be_missing() -> None:
    ask, _ = asker("name=x")
    assert await ask(form(ANYTHING, required=["name"])) == Accept({"name": "x"})
    size = {"type": "integer", "default": 3}
    request = form({**ANYTHING, "size": size}, required=["name", "size"])
    assert await ask(request) == Accept({"name": "x"})


async def test_a_question_before_the_field_wins() -> None:
    ask, _ = asker("name=x", "answer.name=y")
    assert await ask(form(ANYTHING)) == Accept({"name": "y"})


async def test_a_field_may_have_a_point_in_its_name() -> None:
    ask, _ = asker("answer.name=x")
    assert await ask(form({"answer.name": {"type": "string"}})) == Accept({"answer.name": "x"})


@pytest.mark.parametrize(
    ("word", "sent"), [("accept", Accept()), ("decline", Decline()), ("cancel", Cancel())]
)
async def test_a_whole_question_is_answered_by_its_name(word: str, sent: object) -> None:
    for request in (form(ANYTHING), link(URL)):
        ask, _ = asker(f"{request.key}={word}", person=Person([]))
        assert await ask(request) == sent


async def test_a_field_with_the_question_s_own_name_is_the_field() -> None:
    ask, _ = asker("answer=decline")
    assert await ask(form({"answer": {"type": "string"}})) == Accept({"answer": "decline"})


async def test_answers_that_nobody_asked_for_are_known() -> None:
    ask, _ = asker("name=x", "nmae=y", "nmae=z", "page=accept")
    await ask(form(ANYTHING, required=["name"]))
    assert ask.answers.unused == ["nmae", "page"]


# -- the person -------------------------------------------------------------------------------


async def test_a_person_is_asked_for_the_rest() -> None:
    person = Person(["7", "Send"])
    ask, _ = asker("name=x", person=person)
    assert await ask(form(ANYTHING, required=["name", "age"])) == Accept({"name": "x", "age": 7})


@pytest.mark.parametrize(
    ("picked", "told"), [("Decline to answer", "declined"), ("Cancel", "canc")]
)
async def test_a_person_who_does_not_answer_is_told_what_that_was(picked: str, told: str) -> None:
    person = Person(["", picked])
    ask, _ = asker(person=person)
    await ask(form({"f": {"type": "string"}}))
    assert told in person.read[-1]
    assert not ask.unanswered


async def test_an_answer_that_does_not_fit_is_told_and_asked_for() -> None:
    person = Person(["x", "7", "Send"])
    ask, told = asker("age=0", "name=x", person=person)
    assert await ask(form(ANYTHING, required=["name", "age"])) == Accept({"name": "x", "age": 7})
    assert "--answer age=… does not fit. Wanted: a whole number, at least 1" in told.getvalue()


async def test_an_answer_that_is_no_choice_is_told_which_there_are() -> None:
    ask, told = asker("size=x", person=None)
    choices = {"size": {"type": "string", "enum": ["s", "m"]}}
    assert await ask(form(choices, required=["size"])) == Decline()
    shown = told.getvalue()
    assert "--answer size=… does not fit. Wanted: one of the choices: s|m\n" in shown
    assert "answer it by --answer size=s|m\n" in shown


async def test_of_many_choices_some_are_told() -> None:
    ask, told = asker(person=None)
    many = {"size": {"type": "string", "enum": [f"s{i}" for i in range(50)]}}
    await ask(form(many, required=["size"]))
    assert "s11|…\n" in told.getvalue()
    assert "s12" not in told.getvalue()


async def test_the_questions_of_one_round_wait_for_each_other() -> None:
    person = Person(["a", "Send", "b", "Send"])
    ask, _ = asker(person=person)
    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(ask, form({"f": {"type": "string"}}, required=["f"]))
    assert not person.answers


# -- nobody -----------------------------------------------------------------------------------


async def test_without_a_terminal_a_question_is_declined_and_told() -> None:
    ask, told = asker("age=5")
    assert await ask(form(ANYTHING, required=["name"], message="Who?\x1b[2J")) == Decline()
    assert ask.unanswered
    assert told.getvalue() == (
        "Shop asks: Who?\n"
        "There is no terminal to ask at, so the question was declined; "
        "answer it by --answer name=…\n"
    )


@pytest.mark.parametrize(
    "answers", [["name=x", "age=0"], ["name=x", "name=y"], ["answer=perhaps"], ["age:={"]]
)
async def test_without_a_terminal_an_answer_that_does_not_fit_is_none(answers: list[str]) -> None:
    ask, told = asker(*answers)
    assert await ask(form(ANYTHING, required=["name", "age"])) == Decline()
    assert ask.unanswered
    assert "--answer" in told.getvalue().splitlines()[0]


async def test_a_form_of_defaults_alone_is_not_accepted_for_anybody() -> None:
    ask, told = asker()
    assert await ask(form({"sure": {"type": "boolean", "default": True}})) == Decline()
    assert ask.unanswered
    assert "answer it by --answer answer=accept" in told.getvalue()


async def test_what_is_declined_on_purpose_was_answered() -> None:
    ask, told = asker(person=Person([]), decline=True)
    for request in (form(ANYTHING), link(URL)):
        assert await ask(request) == Decline()
    assert not ask.unanswered
    assert told.getvalue() == ""


# -- pages ------------------------------------------------------------------------------------


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pages that a browser was started for."""
    pages: list[str] = []

    def open_page(url: str) -> bool:
        pages.append(url)
        return len(pages) == 1

    monkeypatch.setattr("webbrowser.open", open_page)
    return pages


async def test_a_page_is_named_and_not_opened(opened: list[str]) -> None:
    ask, told = asker(person=Person(["Yes"]))
    assert await ask(link(URL)) == Accept()
    assert told.getvalue() == f"Open this page to go on: {URL}\n"
    assert opened == []


async def test_a_page_is_opened_where_that_was_wanted_and_agreed_to(opened: list[str]) -> None:
    ask, told = asker(person=Person(["No, decline", "Yes", "Yes"]), open_links=True)
    assert await ask(link(URL)) == Decline()
    assert opened == []
    assert await ask(link(URL)) == Accept()
    assert opened == [URL]
    assert await ask(link(URL)) == Accept()
    assert "No browser could be started." in told.getvalue()
