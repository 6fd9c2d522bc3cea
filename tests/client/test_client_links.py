"""A link that a server wants opened: what a person is shown, and warned of."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engine.asked import Accept, Cancel, Decline, UrlRequest
from antiphon.engine.asked_links import WarningKind, read_link
from antiphon.engine.asked_parts import Malformed
from antiphon.engine.errors import InvalidReply
from tests.client.scripted import asks, client_of, done, link


def warned(url: str) -> set[str]:
    return {warning.kind for warning in read_link(url).warnings}


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://example.com/pay?to=us#now",
        "HTTPS://Example.COM:443/",
        "https://a_b.example./x",
        "https://sub.example.co.uk/%E6%97%A5",
    ],
)
def test_a_usual_address_has_no_warning(url: str) -> None:
    assert warned(url) == set()


@pytest.mark.parametrize(
    ("url", "kinds"),
    [
        ("http://example.com/", {"not-https"}),
        ("https://bank.example@evil.example/", {"credentials"}),
        ("https://user:pass@example.com/", {"credentials"}),
        ("https://@example.com/", {"credentials"}),
        ("https://example.com:8443/", {"port"}),
        ("http://example.com:443/", {"not-https", "port"}),
        ("https://bücher.example/", {"internationalized"}),
        ("https://xn--bcher-kva.example/", {"internationalized"}),
        ("https://\u0430\u0440\u0440\u04cf\u0435.com/", {"internationalized"}),
        ("https://xn--80ak6aa92e.com/", {"internationalized"}),
        ("https://ex.com。example/", {"internationalized"}),
        ("https://ﬁne.example/", {"internationalized"}),
        ("https://日本ひらカナ.example/", {"internationalized"}),
        ("https://p\u0430ypal.com/", {"internationalized", "mixed-script"}),
        ("https://xn--pypal-4ve.com/", {"internationalized", "mixed-script"}),
        ("https://203.0.113.9/", {"ip-address", "local"}),
        ("https://93.184.216.34/", {"ip-address"}),
        ("https://[2606:2800:220:1::1]/", {"ip-address"}),
        ("https://127.0.0.1/", {"ip-address", "local"}),
        ("https://[::1]/", {"ip-address", "local"}),
        ("https://10.1.2.3/", {"ip-address", "local"}),
        ("https://169.254.169.254/latest", {"ip-address", "local"}),
        ("https://localhost/", {"local"}),
        ("https://a.localhost./", {"local"}),
        ("https://printer.local/", {"local"}),
        ("https://intranet/", {"local"}),
    ],
)
def test_what_is_unusual_is_warned_of(url: str, kinds: set[str]) -> None:
    assert warned(url) == kinds


def test_every_warning_has_words_for_a_person() -> None:
    told = [
        *read_link("http://u@p\u0430ypal.com:1/").warnings,
        *read_link("https://127.0.0.1/").warnings,
    ]
    assert {warning.kind for warning in told} == set(get_args(WarningKind))
    assert all(warning.text.endswith(".") for warning in told)


def test_the_warning_of_a_user_name_says_where_it_leads() -> None:
    (warning,) = read_link("https://bank.example@evil.example/").warnings
    assert "leads to evil.example" in warning.text


def test_the_warning_of_a_punycode_host_shows_both_spellings() -> None:
    (warning,) = read_link("https://xn--bcher-kva.example/").warnings
    assert "xn--bcher-kva.example" in warning.text
    assert "bücher.example" in warning.text


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "//example.com/",
        "https:example.com",
        "https:///example.com",
        "https://",
        "https://:443/",
        "ftp://example.com/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "https://example.com\\@evil.example/",
        "https://exa mple.com/",
        "https://example.com/\u202egnp",
        "https://exam\u200bple.com/",
        "https://example.com/\n",
        "https://%65xample.com/",
        "https://exa<mple.com/",
        "https://a..example/",
        "https://[::1%25eth0]/",
        "https://[::1/",
        "https://[nowhere]/",
        "https://[v1.example]/",
        "https://evil.example[2606:2800:220:1::1]/",
        "https://[2606:2800:220:1::1]evil.example/",
        "https://user@[2606:2800:220:1::1]evil.example:443/",
        "https://example.com:99999/",
        "https://example.com:x/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://127.1/",
        "http://0177.0.0.1/",
        "https://1.2.3.4.5/",
        "https://example.com\uff0fevil.example/",
        "https://\u0378.example/",
        "https://example.com/" + "x" * 8192,
    ],
)
def test_an_address_that_could_be_read_in_two_ways_is_malformed(url: str) -> None:
    with pytest.raises(Malformed):
        read_link(url)


async def asked(url: str, answer: Any) -> tuple[UrlRequest, dict[str, Any]]:
    """The question as a callback sees it, and what is sent for its answer."""
    seen: list[UrlRequest] = []

    async def person(question: UrlRequest) -> Any:
        seen.append(question)
        return answer

    client, wire = client_of(asks({"page": link(url)}), done(), elicitation=person)
    await client.call_tool("t")
    return seen[0], wire.params[1]["inputResponses"]


async def test_the_callback_has_all_that_a_person_needs_to_decide() -> None:
    url = "http://me@bücher.example:8080/straße?q=é"
    question, _ = await asked(url, Decline())
    assert (question.url, question.host) == (url, "xn--bcher-kva.example")
    assert question.display_url == ("http://me@xn--bcher-kva.example:8080/stra%C3%9Fe?q=%C3%A9")
    assert question.display_parts == (
        "http://me@",
        "xn--bcher-kva.example",
        ":8080/stra%C3%9Fe?q=%C3%A9",
    )
    assert [warning.kind for warning in question.warnings] == [
        "not-https",
        "credentials",
        "internationalized",
        "port",
    ]
    assert (question.server, question.origin.via, question.target) == ("scripted", "scripted", "t")


@pytest.mark.parametrize(
    ("answer", "action"), [(Accept(), "accept"), (Decline(), "decline"), (Cancel(), "cancel")]
)
async def test_a_link_is_accepted_declined_or_cancelled_and_never_opened(
    answer: Any, action: str
) -> None:
    _, sent = await asked("https://example.com/pay", answer)
    assert sent == {"page": {"action": action}}


async def test_a_link_that_cannot_be_shown_ends_the_call_before_anybody_is_asked() -> None:
    async def person(question: Any) -> Any:
        raise AssertionError("asked")

    client, _ = client_of(asks({"page": link("http://0x7f.1/")}), elicitation=person)
    with pytest.raises(InvalidReply, match="not written plainly"):
        await client.call_tool("t")


@given(st.text(max_size=30), st.text(max_size=30))
def test_whatever_is_displayed_is_visible_ascii_and_leads_to_the_same_place(
    host: str, rest: str
) -> None:
    try:
        read = read_link(f"https://{host}/{rest}")
    except Malformed:
        return
    shown = f"{read.before}{read.host}{read.after}"
    assert all("!" <= char <= "~" for char in shown)
    again = read_link(shown)
    assert (again.host, again.before, again.after) == (read.host, read.before, read.after)
