"""A page that a server asks a person to open: shown whole, and never opened unasked.

Specification: client/elicitation, "Safe URL Handling".
"""

from __future__ import annotations

from typing import Final, Protocol

from ..engine.asked import Accept, Cancel, Decline, ElicitationAnswer, UrlRequest
from .cli_forms import KEYS, Declined, Dismissed, Prompts, Sheet, title
from .cli_text import one_line

_LONGEST_WARNING: Final = 1000
_NO: Final = "No, decline"
_YES: Final = "Yes"
_CANCEL: Final = "Cancel"
_ANSWERS: Final[dict[str, ElicitationAnswer]] = {
    _YES: Accept(),
    _NO: Decline(),
    _CANCEL: Cancel(),
}


class LinkSheet(Sheet, Protocol):
    """A sheet that shows an address with its host in bold."""

    def address(self, before: str, host: str, after: str) -> None:
        """The address in three parts."""
        ...

    def warn(self, text: str) -> None:
        """Something that is unusual about it."""
        ...


async def ask_consent(request: UrlRequest, prompts: Prompts, sheet: LinkSheet) -> ElicitationAnswer:
    """Show where the address leads, and ask whether the person agrees to go there.

    Raises:
        Paused: the person keeps the question for later.
    """
    sheet.heading(title(request), request.message)
    sheet.note("It asks you to open this page:")
    sheet.address(*request.display_parts)
    for warning in request.warnings:
        sheet.warn(one_line(warning.text, _LONGEST_WARNING))
    sheet.note(KEYS)
    options = [_NO, _YES, _CANCEL]
    question = f"Agree to go to {one_line(request.host)}?"
    try:
        # The pointer begins at the harmless answer.
        picked = options[await prompts.choose(question, options, 0)]
    except Declined:
        picked = _NO
    except Dismissed:
        picked = _CANCEL
    return _ANSWERS[picked]
