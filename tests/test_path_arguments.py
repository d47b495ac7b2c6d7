"""Every path of every command may be relative, a link, and have spaces and letters of any language."""

import argparse
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import trimesh

from studio.__main__ import main, parser, with_absolute_paths

SAMPLES = Path(__file__).parents[1] / "sample_scenes"
FOLDER = "dir ünï 表 (1) & 'x' #2"
OTHER_TEXTS = {"--policy", "--model", "--python", "--root-path", "url"}
"""Arguments that hold a path within another text, opened by the command's own process, or no path of this machine."""


def all_parsers(top: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], list]]:
    """Yield the words and the arguments of each command."""
    actions = list(top._actions)
    subparsers = [action for action in actions if isinstance(action, argparse._SubParsersAction)]
    if not any(action.required for action in subparsers):
        yield words, [action for action in actions if action not in subparsers and action.dest != "help"]
    for choice in subparsers:
        for name, command in choice.choices.items():
            yield from all_parsers(command, (*words, name))


COMMANDS = {" ".join(words): actions for words, actions in all_parsers(parser())}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_relative_path_of_any_argument_is_absolute_before_the_command_runs(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts, paths = [], 0
    for action in COMMANDS[command]:
        count = action.nargs if isinstance(action.nargs, int) else 2 if action.nargs in ("+", "*") else 1
        is_path = action.type is Path
        looks_so = any(word in f"{action.metavar} {action.help}" for word in ("FILE", "PATH", "DIR", "folder of"))
        assert is_path or not looks_so or action.nargs == 0 or OTHER_TEXTS & {*action.option_strings, action.dest}
        value = f"{FOLDER}/given" if is_path else (action.choices and next(iter(action.choices))) or "1"
        if is_path or action.required:
            texts += [*action.option_strings[:1], *[str(value)] * count]
            paths += is_path
    found = vars(with_absolute_paths(parser().parse_args([*command.split(), *texts])))
    given = [one for value in found.values() for one in (value if isinstance(value, list) else [value])]
    given = [one for one in given if isinstance(one, Path)]
    assert len(given) >= paths and set(given) <= {tmp_path / FOLDER / "given"}


def test_paths_through_links_with_spaces_and_unicode_are_opened_and_written(tmp_path, monkeypatch, capsys):
    """The links lead to files whose names have no ending, as in the caches of git-annex, DVC and Hugging Face."""
    given, kept = tmp_path / FOLDER, tmp_path / "kept"
    given.mkdir()
    kept.mkdir()
    trimesh.creation.box([0.1, 0.1, 0.1]).export(tmp_path / "box.stl")
    shutil.make_archive(str(tmp_path / "pack"), "zip", tmp_path, "box.stl")
    episodes = SAMPLES / "episodes"
    sources = (SAMPLES / "desk", episodes / "real.npz", episodes / "sim.npz", tmp_path / "pack.zip")
    for number, source in enumerate(sources):
        (shutil.copytree if source.is_dir() else shutil.copy)(source, kept / str(number))
        (given / source.name).symlink_to(Path(os.path.relpath(kept / str(number), given)))
    (kept / "out").mkdir()
    (given / "out").symlink_to(kept / "out")
    monkeypatch.chdir(given)
    for command in (
        "run desk --until frame --out out/project",
        "episode real.npz --out out/real.csv",
        "compare real.npz sim.npz --out out/compared",
        "library --to out/library add pack.zip",
    ):
        assert main(command.split()) == 0, command
    assert {one.name for one in (kept / "out").iterdir()} == {"project", "real.csv", "compared", "library"}
    assert "[1/1] box:" in capsys.readouterr().out
