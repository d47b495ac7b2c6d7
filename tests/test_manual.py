"""The manual names only commands, flags, files, settings and headings that there are, in bounded length."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest

from studio.__main__ import main, parser

ROOT = Path(__file__).resolve().parents[1]
MANUAL = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
PAGES = {ROOT / "docs" / name: text for name, text in MANUAL.items()}
PAGES |= {
    path: path.read_text(encoding="utf-8")
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/results/*.md"))
    if path.stem != "CHANGELOG"
}
SHOWN = "\n".join(
    re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    for path, text in PAGES.items()
    if path.parent.name != "results"
)
BLOCKS = [block for text in PAGES.values() for block in re.findall(r"^```\n(.*?)^```$", text, re.M | re.S)]
COMMAND = re.compile(r"^(?:echo .*\| |\w+=\S+ )*(?:\.venv/bin/)?(grs-studio|make|python)\b(.*)$", re.M)
COMMANDS = sorted({(name, line.strip()) for block in BLOCKS for name, line in COMMAND.findall(block)})
FOLDERS = ("bench", "pipeline", "scripts", "studio")
SOURCE = "\n".join(path.read_text(encoding="utf-8") for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
CHEAP = ("library list", "library search cabinet", "robot list", "set list")


@pytest.mark.parametrize(("name", "line"), COMMANDS)
def test_a_command_is_taken_by_its_parser_and_run_where_that_is_cheap(name, line, tmp_path, monkeypatch, capsys):
    first, *words = [*shlex.split(line, comments=True), ""][:-1] or [""]
    if name == "grs-studio":
        parser().parse_args([first, *words] if first else [])
        monkeypatch.setenv("GRS_WORKSPACE", str(tmp_path))
        assert not line.startswith(CHEAP) or main([first, *words]) == 0
    elif name == "make":
        targets = (word for word in (first, *words) if "=" not in word)
        assert all(re.search(rf"^{re.escape(word)}:", (ROOT / "Makefile").read_text(), re.M) for word in targets)
    else:
        assert find_spec(words[0]) if first == "-m" else (ROOT / first).is_file()


def test_flags_settings_files_and_links_of_the_manual_are_there():
    spans = re.findall(r"`([^`]+)`", SHOWN)
    flags = {
        word for span in spans if span.startswith(("--", "grs-studio ")) for word in re.findall(r"--[a-z][\w-]*", span)
    }
    assert not {flag for flag in flags - {"--help"} if f'"{flag}"' not in SOURCE}
    assert not {name for name in re.findall(r"\bGRS_[A-Z0-9_]*[A-Z0-9]", SHOWN) if name not in SOURCE}
    paths = {span for span in spans if re.fullmatch(rf"({'|'.join(FOLDERS)}|examples|static|tests)/[a-z0-9_./]+", span)}
    assert not {path for path in paths if not (ROOT / path).exists()}
    for page, text in PAGES.items():
        for target, heading in re.findall(r"\]\((?!http)([^)#\s]*)(?:#([^)]+))?\)", text):
            there = (page.parent / target) if target else page
            assert there.exists(), (page.name, target)
            titles = re.findall(r"^#+ (.*)$", there.read_text(), re.M) if heading else ()
            assert not heading or heading in {
                re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles
            }, (page.name, heading)


def test_the_manual_has_fewer_than_25_000_words_and_a_table_of_all_pages():
    assert sum(len(text.split()) for text in MANUAL.values()) < 25_000
    assert set(MANUAL) - {"README.md"} == set(re.findall(r"\]\((\w+\.md)\)", MANUAL["README.md"])) - {"README.md"}
