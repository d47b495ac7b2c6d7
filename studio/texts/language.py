"""The language of the person for whom the server is working."""

from collections.abc import Mapping
from contextvars import ContextVar

from studio.texts.catalogue import LANGUAGES, SOURCE_LANGUAGE

COOKIE = "language"
"""Of the switch in the top bar; without it the browser's languages decide."""
current_language: ContextVar[str] = ContextVar("current_language", default=SOURCE_LANGUAGE)
"""Set for each request and each event, and seen by the threads they use; English in background threads."""


def choose_language(cookies: Mapping[str, str], accepted: str | None) -> str:
    """Return the code of the chosen language, else of the browser's first one that has a catalogue.

    Args:
        cookies: of the request.
        accepted: its Accept-Language header (RFC 9110, section 12.5.4).
    """
    chosen = cookies.get(COOKIE, "")
    if chosen in LANGUAGES:
        return chosen
    known = (code for code in map(_code, _by_preference(accepted or "")) if code in LANGUAGES)
    return next(known, SOURCE_LANGUAGE)


def _by_preference(accepted: str) -> list[str]:
    """Return the language ranges of an Accept-Language header, the preferred one first."""
    weighted = []
    for item in accepted.split(","):
        name, _, weight = item.partition(";q=")
        try:
            weighted.append((float(weight or 1), name.strip()))
        except ValueError:
            continue
    return [name for weight, name in sorted(weighted, key=lambda pair: -pair[0]) if weight > 0]


def _code(language_range: str) -> str:
    return language_range.partition("-")[0].lower()
