"""A page that a server asks a person to open."""

import pytest

from antiphon.engine.asked import Accept, Cancel, Decline
from antiphon.transports.cli_forms import Declined, Dismissed
from antiphon.transports.cli_links import address, around_host, ask_consent, doubts
from tests.cli.person import Person, link

URL = "https://accounts.example:8443/sign?in=1"


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        ("Yes", Accept()),
        ("No, decline", Decline()),
        ("Cancel", Cancel()),
        (Declined(), Decline()),
        (Dismissed(), Cancel()),
    ],
)
async def test_a_person_agrees_declines_or_cancels(answer: object, sent: object) -> None:
    person = Person([answer])
    assert await ask_consent(link(URL), person, person) == sent
    # Leaning on the Enter key agrees to nothing.
    assert person.prompts == [("Agree to go to accounts.example?", "No, decline")]


async def test_the_whole_address_is_shown_with_its_host_apart() -> None:
    person = Person(["Yes"])
    await ask_consent(link(URL), person, person)
    assert person.read[:2] == ["Shop asks, for order", "Sign in."]
    assert "https://**accounts.example**:8443/sign?in=1" in person.read


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("https://a.example/", ("https://", "a.example", "/")),
        ("https://A.Example", ("https://", "A.Example", "")),
        (
            "https://b.example@a.example/b.example",
            ("https://b.example@", "a.example", "/b.example"),
        ),
        ("https://https@a.example", ("https://https@", "a.example", "")),
        ("http://[::1]:80/", ("http://[", "::1", "]:80/")),
        ("https://u:p@s@h.example/", ("https://u:p@s@", "h.example", "/")),
    ],
)
def test_the_host_is_where_the_address_leads(url: str, parts: tuple[str, str, str]) -> None:
    assert around_host(link(url)) == parts


def test_an_address_is_shown_in_letters_that_cannot_deceive() -> None:
    assert address("https://a.example/\u202egpj") == "https://a.example/%E2%80%AEgpj"


@pytest.mark.parametrize(
    ("url", "doubt"),
    [
        ("https://xn--pple-43d.com/", "letters"),
        ("https://\u0430pple.com/", "letters"),
        ("https://bank.example@evil.example/", "before the @"),
        ("https://198.51.100.7/", "bare number"),
        ("http://shop.example/", "not encrypted"),
    ],
)
def test_what_is_suspicious_is_said(url: str, doubt: str) -> None:
    assert any(doubt in told for told in doubts(link(url)))


@pytest.mark.parametrize(
    "url", [URL, "http://localhost:8000/", "http://127.0.0.1:8000/x", "http://[::1]/"]
)
def test_what_is_usual_is_not(url: str) -> None:
    assert not list(doubts(link(url)))
