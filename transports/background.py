"""The nursery of :mod:`antiphon.engine.background`, under the name it had here."""

from ..engine.background import background as background
