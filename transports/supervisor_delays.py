"""When a worker that died is replaced: at once, then later and later."""

from __future__ import annotations

from attrs import define, field


@define
class Delays:
    """The waits between the deaths of one worker and its replacements: 0, 0.5, 1, 2, 4 ...

    Attributes:
        first: seconds before the second replacement; each further wait is twice as long.
        longest: seconds that no wait exceeds.
        settled: seconds of life after which all earlier deaths are forgotten.
    """

    first: float = 0.5
    longest: float = 30.0
    settled: float = 60.0
    _deaths: int = field(default=0, init=False)

    def after(self, lived: float) -> float:
        """Count the death of a worker that lived so long; the seconds to wait now."""
        if lived >= self.settled:
            self._deaths = 0
        self._deaths += 1
        if self._deaths == 1:
            return 0.0
        # The exponent is bounded: a power of a large one would be no float any more.
        return min(self.longest, self.first * 2.0 ** min(self._deaths - 2, 60))
