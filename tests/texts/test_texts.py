"""Texts of the pages: laws over the catalogues of all languages, and what `t` does with them."""

import json
import re

import pytest

from scripts.source_texts import ROOT, all_templates, error_templates, frame_notes, page_texts, unnamed
from studio.texts import LANGUAGES, catalogue, choose_language, current_language, t, translated
from studio.texts.translation import PLACEHOLDER

TRANSLATED = [language for language in LANGUAGES if language != "en"]
COMPOSED = {"agrees", "differs", "larger", "smaller", "on", "in", "tray", "colour", "up", "room", "to", "table", "out"}
"""Last words of texts that the code puts together of two words, such as "outline agrees" and "put on"."""


@pytest.fixture(params=TRANSLATED)
def language(request: pytest.FixtureRequest) -> str:
    """Each language but English, in use."""
    token = current_language.set(request.param)
    request.addfinalizer(lambda: current_language.reset(token))
    return request.param


def test_every_text_error_and_note_is_translated_with_its_placeholders_and_forms_and_no_other(language: str):
    assert not sorted(page_texts() - catalogue(language).keys())
    assert not sorted((error_templates() | frame_notes()) - {unnamed(text) for text in catalogue(language)})
    known = {_start(form) for text in (*all_templates(), *page_texts()) for form in (text, *text.split("|"))}
    lost = [text for text in catalogue(language) if _start(text) not in known and "{1}" not in text]
    assert not [text for text in lost if text.split()[-1] not in COMPOSED]
    for english, text in catalogue(language).items():
        assert set(PLACEHOLDER.findall(text)) == set(PLACEHOLDER.findall(english)), english
        assert text.strip() and (text[0] == " ", text[-1] == " ") == (english[0] == " ", english[-1] == " "), english
        if "{n}" in english:
            assert text.count("|") == english.count("|"), english
    text = (ROOT / "studio" / "texts" / f"{language}.json").read_text(encoding="utf-8")
    assert list(json.loads(text)) == sorted(json.loads(text))


def _start(text: str) -> str:
    """Return a text as code may hold it, which capitalises sentences and ends them."""
    text = unnamed(text)
    return (text[:1].lower() + text[1:]).rstrip(".")


@pytest.mark.usefixtures("language")  # which is reset at the end
def test_texts_are_filled_counted_and_translated_with_what_stands_in_them():
    current_language.set("de")
    assert t("{n} object|{n} objects", n=1) == "1 Objekt" and t("{n} object|{n} objects", n=3) == "3 Objekte"
    assert t("Round {number} passed.", number=4) == "Runde 4 bestanden."
    assert t("no such text") == "no such text"
    assert translated("red_cube moved") == "red_cube bewegt"
    assert translated("undone: red_cube moved") == "rückgängig: red_cube bewegt"
    wide = translated("blue_plate is 16.6 cm wide, the opening of yellow_cup only 5.7 cm")
    assert wide.startswith("blue_plate ist 16.6 cm breit")
    assert translated("A message of a plug-in.") == "A message of a plug-in."
    current_language.set("en")
    assert translated("undone: red_cube moved") == "undone: red_cube moved"
    assert t("{n} object|{n} objects", n=1) == "1 object" and t("{n} object|{n} objects", n=0) == "0 objects"
    assert t('JSON: {"frames": ...}') == 'JSON: {"frames": ...}'


def test_the_language_is_the_chosen_one_else_the_browsers():
    for cookies, accepted, expected in (
        ({}, None, "en"),
        ({}, "de-DE,de;q=0.9,en;q=0.8", "de"),
        ({}, "fr-FR,fr;q=0.9,de;q=0.5,en;q=0.4", "de"),
        ({}, "en;q=0.3,de;q=0.9", "de"),
        ({}, "de;q=0,en", "en"),
        ({}, "*;q=abc,,;", "en"),
        ({"language": "de"}, "en", "de"),
        ({"language": "xx"}, "de", "de"),
    ):
        assert choose_language(cookies, accepted) == expected


def test_scripts_show_no_text_past_t_which_finds_no_template():
    names = r"""(?:\b(?:title|placeholder|alt|textContent|label)|"aria-label")(?::| =)"""
    in_template = r"""(?:title|placeholder|alt|aria-label)="(?!Enter")[A-Z]|>(?!GRS Studio<)[A-Z][a-z]+[ <]"""
    shown = re.compile(names + r""" "(?!Enter")[A-Z]|""" + in_template)
    for path in sorted((ROOT / "static").rglob("*.js")):
        if "vendor" not in path.parts:
            text = path.read_text(encoding="utf-8")
            assert not [line for line in text.splitlines() if shown.search(line)], path.name
            assert not re.findall(r"\bt\(`[^`]*`", text), path.name
