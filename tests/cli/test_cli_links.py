"""A page that a server asks a person to open."""

import pytest

from antiphon.engine.asked import Accept, Cancel, Decline
from antiphon.transports.cli_forms import Declined, Dismissed, Paused
from antiphon.transports.cli_links import ask_consent
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


async def test_what_is_unusual_is_said_before_it_is_agreed_to() -> None:
    person = Person([Paused()])
    with pytest.raises(Paused):
        await ask_consent(link("http://bank.example@\u0430pple.com/"), person, person)
    assert "http://bank.example@**xn--pple-43d.com**/" in person.read
    warnings = [line for line in person.read if line.startswith("Careful: ")]
    assert any("not encrypted" in line for line in warnings)
    assert any("before the @" in line for line in warnings)
    assert any("may look like another" in line for line in warnings)
    assert person.prompts == [("Agree to go to xn--pple-43d.com?", "No, decline")]


async def test_of_what_is_usual_nothing_is_said() -> None:
    person = Person(["Yes"])
    await ask_consent(link("https://accounts.example/sign?in=1"), person, person)
    assert not [line for line in person.read if line.startswith("Careful: ")]
