"""The manual's commands are taken by their parsers, the cheap ones run, and what its pages name is there."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

from studio.__main__ import main, parser

ROOT = Path(__file__).resolve().parents[1]
PAGES = {path: path.read_text() for path in (*ROOT.glob("docs/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md")}
SPANS = [" ".join(one.split()) for one in re.findall(r"(?<!`)`([^`]+)`(?!`)", "\n".join(PAGES.values()))]
SHOWN = re.findall(r"^```\n((?:.*\n)*?)```$|^```.+\n(?:.*\n)*?```$", "\n".join(PAGES.values()), re.M)
SHOWN += [span for span in SPANS if span.startswith(("make ", "python -m "))]
COMMAND = re.compile(r"^(?:echo .*\| |\w+=\S+ )*(?:\.venv/bin/)?(grs-studio|make|python -m) *(.*)$", re.M)


def test_commands_are_taken_by_their_parsers_and_lists_are_listed(tmp_path, monkeypatch):
    monkeypatch.setenv("GRS_WORKSPACE", str(tmp_path))
    studio, makefile = parser(), (ROOT / "Makefile").read_text()
    for program, line in COMMAND.findall("\n".join(SHOWN)):
        words = shlex.split(line, comments=True)
        assert program != "grs-studio" or (studio.parse_args(words) and ("list" not in words[1:2] or not main(words)))
        assert program != "make" or all("=" in word or f"\n{word}:" in makefile for word in words), line
        assert program != "python -m" or find_spec(words[0]), line


def test_flags_settings_files_and_headings_that_the_manual_names_are_there_and_it_is_short():
    rooms = "bench|pipeline|scripts|studio"
    code = "--help".join(path.read_text() for room in rooms.split("|") for path in (ROOT / room).rglob("*.py"))
    named = "\n".join(one for one in (*SPANS, *SHOWN) if one.startswith(("--", "grs-studio ", "python -m ", "GRS_")))
    assert not {one for one in re.findall(r"--[a-z][\w-]*|\bGRS_[A-Z\d_]*\w", named) if one not in code}
    assert all((ROOT / one).exists() for one in SPANS if re.match(rf"({rooms}|static|tests)/[a-z\d_./]+$", one))
    for page, text in PAGES.items():
        for target, heading in re.findall(r"\]\((?!http)([^)#\s]*)(?:#([^)]+))?\)", text):
            titles = re.findall(r"^#+ (.*)", (page.parent / target).read_text() if heading and target else text, re.M)
            anchors = [re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles]
            assert (page.parent / target).exists() and heading in ["", *anchors], (page, target, heading)
    assert sum(len(text.split()) for path, text in PAGES.items() if path.parent.name == "docs") < 25_000
