"""Sets of accepted projects: the laws of the split, the export with its card, and wrong requests told in a line."""

import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.planted_projects import plant_projects
from pipeline import project_sets
from pipeline.errors import StudioError
from pipeline.project.curation import Curation, save_curation
from pipeline.project_sets import SetError, SetSettings, export_set, make_set, read_set, read_sets, split_projects
from studio.__main__ import main

sources = st.dictionaries(st.text("abcdefgh", min_size=1, max_size=3), st.sampled_from("uvwxyz"), min_size=1)


@given(sources, st.floats(0, 0.95), st.integers(0, 99), st.booleans())
def test_every_project_is_in_one_split_that_the_seed_alone_decides(sources, share, seed, by_source):
    settings = SetSettings(share, seed, by_source)
    split = split_projects(sources, settings)
    assert set(split) == set(sources) and set(split.values()) <= {"train", "test"}
    assert split == split_projects(dict(reversed(sources.items())), settings), "the order does not matter"
    test = [name for name, one in split.items() if one == "test"]
    if not by_source:
        assert len(test) == round(share * len(sources))
    else:
        assert all(len({split[name] for name in split if sources[name] == one}) == 1 for one in sources.values())
        wanted = round(share * len(sources))
        assert len(test) <= wanted or (wanted and len({sources[name] for name in test}) == 1)
        assert bool(test) == bool(wanted and len(set(sources.values())) > 1) or len(set(sources.values())) == 1


def test_another_seed_splits_otherwise():
    many = {f"p{number}": "" for number in range(50)}
    splits = [tuple(split_projects(many, SetSettings(0.3, seed)).values()) for seed in range(10)]
    assert len(set(splits)) == 10


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Twenty planted projects of which the first six are accepted."""
    plant_projects(tmp_path / "work", 20)
    for number, folder in enumerate(sorted((tmp_path / "work").iterdir())):
        save_curation(folder, Curation(verdict="accepted", by="ada") if number < 6 else Curation())
    return tmp_path / "work"


@pytest.fixture
def plain_exporter(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exporter for projects that have no results: a zip with the record."""

    def export(folder: Path, name: str, out: Path) -> tuple[str, ...]:
        out.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(out, "w") as file:
            file.write(folder / "project.json")
        return ("Colours are left out",)

    monkeypatch.setattr(project_sets, "export_project", export)


@pytest.mark.usefixtures("plain_exporter")
@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
def test_a_set_of_all_accepted_projects_is_kept_and_exported_with_its_splits_and_card(workspace: Path, packed: bool):
    made = make_set(workspace, "first", [], SetSettings(0.5, 3, about="Tables", licence="CC-BY-4.0"))
    assert set(made.split) == set(project_sets.accepted_projects(workspace)) and len(made.split) == 6
    assert read_set(workspace, "first") == made and read_sets(workspace) == [made]
    out = workspace.parent / ("out.zip" if packed else "out")
    steps = list(export_set(workspace, made, "zip", out))
    assert set(made.split) <= set(steps)
    if packed:
        zipfile.ZipFile(out).extractall(workspace.parent / "unpacked")
        out = workspace.parent / "unpacked" / "first"
    for name, split in made.split.items():
        assert zipfile.is_zipfile(out / split / f"{name}.zip")
    card = (out / project_sets.CARD).read_text()
    assert all(text in card for text in ("Tables", "CC-BY-4.0", "3 train, 3 test", "seed 3", "ada", "| Projects | 6 |"))
    assert json.loads((out / "set.json").read_text())["split"] == made.split


@pytest.mark.usefixtures("plain_exporter")
def test_an_export_that_is_stopped_leaves_nothing(workspace: Path):
    steps = export_set(workspace, make_set(workspace, "first", [], SetSettings()), "zip", workspace.parent / "out")
    assert next(steps) == "frame_00000: Colours are left out"
    steps.close()
    assert [path.name for path in workspace.parent.iterdir()] == ["work"]


def test_an_export_of_a_project_that_cannot_be_exported_says_which_and_leaves_nothing(workspace: Path):
    made = make_set(workspace, "first", [], SetSettings())
    with pytest.raises(StudioError, match="frame_00000 has no scene"):
        list(export_set(workspace, made, "usd", workspace.parent / "out"))
    assert [path.name for path in workspace.parent.iterdir()] == ["work"]


def test_bad_input_is_one_line_and_exit_code_2(workspace: Path, capsys):
    for arguments, message in (
        (["make", "a/b"], "letters"),
        (["make", "first", "frame_00009"], "not accepted: frame_00009"),
        (["make", "first", "--test", "1.5"], "from 0 to below 1"),
        (["export", "none", "--out", "x"], "no set none"),
        (["remove", ".."], "no set"),
    ):
        assert main(["set", arguments[0], "--workspace", str(workspace), *arguments[1:]]) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1 and not read_sets(workspace)


def test_a_set_is_made_listed_and_removed_by_the_command_line(workspace: Path, capsys):
    place = ["--workspace", str(workspace)]
    assert main(["set", "make", *place, "mine", "--test", "0.34", "--by-source"]) == 0
    assert main(["set", "make", *place, "mine"]) == 2, "the name is taken"
    assert main(["set", "list", *place]) == 0
    assert "mine: " in capsys.readouterr().out
    assert main(["set", "remove", *place, "mine"]) == 0
    with pytest.raises(SetError):
        read_set(workspace, "mine")
