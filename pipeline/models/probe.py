"""What a server can do, found by trying: the "Test connection" of the Models panel."""

from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.models.settings import ModelSettings

WHAT = ("reachable", "answers", "sees pictures", "keeps a schema", "streams", "context length")
"""What is tried, in this order."""


@dataclass(frozen=True)
class Finding:
    """One thing that was tried."""

    what: str
    """One of WHAT."""
    ok: bool | None
    """None: could not be told."""
    sentence: str
    """What was found, and what to do where it is wrong; never holds the key."""
    seconds: float = 0.0


def probe(settings: ModelSettings, key: str = "", model: str = "") -> Iterator[Finding]:
    """One finding after the other, as each is known; ends early where nothing more can be tried.

    `key` is the server's; empty takes OPENAI_API_KEY. `model` tries another than settings.model, as the code model.
    """
    yield Finding(WHAT[0], None, "Not tried yet.")
