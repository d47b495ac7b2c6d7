"""Catalogues: one JSON file for each language, from English texts to translated ones."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
LANGUAGES = {"en": "English", "de": "Deutsch"}
"""Names of the languages, each in itself, by ISO 639-1 code. The first is that of the code."""
SOURCE_LANGUAGE = "en"


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """Return the translations by English text; empty for English and for languages without a catalogue."""
    if language == SOURCE_LANGUAGE or language not in LANGUAGES:
        return {}
    return json.loads((FOLDER / f"{language}.json").read_text(encoding="utf-8"))
