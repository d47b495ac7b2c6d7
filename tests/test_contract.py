"""The commands and the project folder that outside tools rely on (docs/projects.md); their paths may be any."""

import argparse
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
import privacy
import pytest
import trimesh
from PIL import Image
from ready_projects import ready_project
from reference_frames import reference_frame

from pipeline.frame import save
from pipeline.store import read_json as read
from studio.__main__ import main, parser, with_absolute_paths
from tests.frame.rendered import render

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "sample_scenes" / "blocks"


class Done(NamedTuple):
    code: int
    out: str
    error: str


@pytest.fixture
def grs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    monkeypatch.setenv("GRS_WORKSPACE", str(tmp_path / "workspace"))

    def run(*arguments: object) -> Done:
        try:
            code = main([*map(str, arguments)])
        except SystemExit as ended:
            code = int(ended.code or 0)
        return Done(code, *capsys.readouterr())

    return run


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def project() -> Path:
    return ready_project("blocks", "solution")


def test_grounds_are_chosen_by_their_numbers_and_what_cannot_be_is_one_line_that_changes_nothing(grs, tmp_path):
    board = '<geom type="box" size=".2 .12 .1" pos=".2 .15 .1"/><geom type="box" size=".03 .03 .03" pos=".2 .15 .23"/>'
    cube = '<geom type="box" size=".03 .03 .03" pos="-.2 0 .03"/>'
    save(render(board + cube, eye=(0, -0.7, 0.8)).frame, tmp_path / "frame")
    run = ("run", tmp_path / "frame", "--out", tmp_path / "out", "--until", "frame", "--ground")
    decisions = tmp_path / "out" / "decisions.jsonl"
    assert grs(*run, "1").code == 0 and "also" not in read(decisions)["data"]
    for wrong, said in (("1,x", 'such as 1,2, not "1,x"'), ("1,9", "no ground 9; found: 1 (")):
        refused = grs(*run, wrong)
        assert refused.code == 2 and said in refused.error.splitlines()[-1] and len(read_lines(decisions)) == 1
    done = grs(*run, "1,2")
    assert done.code == 0 and "choose with --ground N, or several with --ground 1,2" in done.error
    assert [len(one["data"].get("also", ())) for one in read_lines(decisions)] == [0, 1]
    assert grs(*run, "1,2").code == 0 and len(read_lines(decisions)) == 2


def test_every_stage_is_done_timed_and_versioned_every_call_recorded_and_files_have_their_keys(project):
    record = read(project / "project.json")
    assert record["schema"] == 1 and set(record["stages"].values()) == {"done"}
    stages = "frame segments descriptions matches scene task rounds solution"
    assert list(record["stages"]) == stages.split()
    assert all(seconds >= 0 for seconds in record["seconds"].values())
    assert record["versions"]["mujoco"] == mujoco.__version__
    rounds = read_lines(project / "rounds.jsonl")
    assert len(rounds) == len(list((project / "rounds").iterdir()))
    calls = read_lines(project / "trace.jsonl")
    assert any("openinference.span.kind" in call for call in calls)
    for file, keys in (
        ("descriptions.json", "segment_id is_object name caption attributes source"),
        ("matches.json", "segment_id asset_id scale reason candidates source"),
        ("task.json", "name instruction objects goals source"),
        ("rounds/000/report.json", "checks reward crash timed_out violation route reason parent"),
        ("solution.json", "solved reward"),
    ):
        value = read(project / file)
        for entry in value if isinstance(value, list) else [value]:
            assert set(keys.split()) <= set(entry), file


def test_masks_are_saved_by_columns_as_coco_has_them_and_the_solution_solves_every_layout(project):
    labels = np.asarray(Image.open(project / "segments/masks.png"))
    for note in read(project / "segments/coco.json")["annotations"]:
        counts = note["segmentation"]["counts"]
        flat = np.repeat(np.arange(len(counts)) % 2, counts)
        assert np.array_equal(flat.reshape(labels.shape, order="F").astype(bool), labels == note["id"])
    solution = read(project / "solution.json")
    assert solution["solved"] is True and len(solution["reward"]) == 8


def standing_twin(project: Path) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Return the twin as it was written, after a look that nothing of it moves in five seconds."""
    model = mujoco.MjModel.from_xml_path(str(project / "scene/scene.xml"))
    start, data = mujoco.MjData(model), mujoco.MjData(model)
    mujoco.mj_forward(model, start)
    mujoco.mj_step(model, data, nstep=int(5 / model.opt.timestep))
    assert np.linalg.norm(data.xpos - start.xpos, axis=1).max() < 0.01
    return model, start


def test_every_segment_has_a_description_and_every_object_a_match_and_a_body_that_stays_at_its_pose(project, tmp_path):
    labels = np.asarray(Image.open(project / "segments/masks.png"))
    described = read(project / "descriptions.json")
    assert labels.dtype == np.uint16 or labels.dtype == np.int32
    assert set(np.unique(labels)) - {0} == {d["segment_id"] for d in described}
    objects = {d["segment_id"]: d["name"] for d in described if d["is_object"]}
    assert {m["segment_id"] for m in read(project / "matches.json")} == set(objects)
    scene = read(project / "scene.json")
    assert {p["segment_id"] for p in scene["placements"]} == set(objects)
    model, data = standing_twin(project)
    for p in scene["placements"]:
        assert objects[p["segment_id"]] in (p["name"], *p["also"]), "the measured name still refers to it"
        assert model.body(p["name"]).jntnum[0] == 1
        np.testing.assert_allclose(data.body(p["name"]).xpos, p["world_from_object"]["pos"], atol=1e-4)
    shutil.copytree(project / "scene", tmp_path / "elsewhere")
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "elsewhere/scene.xml")).nbody == model.nbody


def test_neither_the_project_nor_its_export_tells_who_made_it_or_where(grs, project, tmp_path):
    assert privacy.leaks(project) == [] and grs("export", project, "--out", tmp_path / "all.zip").code == 0
    assert privacy.leaks(tmp_path, privacy.tells()) == []


@pytest.fixture
def own(project, tmp_path) -> Path:
    return shutil.copytree(project, tmp_path / "blocks")


def test_a_second_run_finds_everything_done_check_prints_a_report_and_another_instruction_counts(grs, own):
    before = (own / "solution.json").stat().st_mtime_ns
    assert grs("run", SAMPLE, "--out", own).code == 0 and (own / "solution.json").stat().st_mtime_ns == before
    done = grs("check", own / "rounds/000", "--scene", own)
    assert done.code == 0, done.error
    report, saved = json.loads(done.out), read(own / "rounds/000/report.json")
    assert [c["name"] for c in report["checks"]] == [c["name"] for c in saved["checks"]]
    assert report["reward"] == saved["reward"]
    run = ("run", SAMPLE, "--out", own, "--until", "task", "--task")
    assert grs(*run, "stack the cubes together").code == 0
    assert read(own / "task.json")["instruction"] == "stack the cubes together"
    refused_last = grs(*run, "put the elephant in the fridge")
    assert refused_last.code == 2 and "elephant" in refused_last.error.splitlines()[-1]
    assert read(own / "project.json")["stages"]["scene"] == "done"


def test_bad_input_gets_one_clear_line(grs, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious.txt").write_text("mine")
    for arguments, words in (
        (("run", "nowhere", "--out", "{tmp}/x"), ["nowhere"]),
        (("run", SAMPLE, "--out", "{tmp}/full"), ["not empty", "new folder"]),
        (("run", SAMPLE, "--out", "{tmp}/x", "--until", "heaven"), ["heaven", "solution"]),
        (("run", SAMPLE, "--out", "{tmp}/x", "--model", "oracle-9000"), ["oracle-9000", "offline"]),
        (("run", SAMPLE, "--out", "{tmp}/x", "--matcher", "text"), ["text needs a language model"]),
        (("run", SAMPLE, "--out", "{tmp}/x", "--keep-all"), ["--keep-all", "add --segmenter sam2"]),
        (("demo", "--scene", "moon"), ["moon", "blocks", "kitchen"]),
        (("run", SAMPLE), ["--out"]),
        (("segment", SAMPLE, "--prompts", "{tmp}/none.json", "--out", "{tmp}/x"), ["none.json"]),
        (("check", "{tmp}", "--scene", "{tmp}"), ["simulation.py"]),
        (("--port", "99999"), ["99999", "1024"]),
    ):
        done = grs(*(str(a).format(tmp=tmp_path) for a in arguments))
        (line,) = done.error.strip().splitlines()
        assert done.code == 2 and all(word in line for word in words), line
    assert (tmp_path / "full" / "precious.txt").read_text() == "mine" and not (tmp_path / "x").exists()


def test_a_run_stops_after_a_stage_and_segment_answers_prompts_from_a_file(grs, tmp_path):
    (tmp_path / "library" / "broken").mkdir(parents=True)
    (tmp_path / "library" / "broken" / "asset.json").write_text("{")
    done = grs("run", SAMPLE, "--out", tmp_path / "out", "--library", tmp_path / "library", "--until", "frame")
    assert done.code == 0 and "broken skipped" in done.error
    assert (tmp_path / "out" / "frame").exists() and not (tmp_path / "out" / "segments").exists()
    prompts, out = tmp_path / "prompts.json", tmp_path / "masks"
    width, height = Image.open(SAMPLE / "rgb.png").size
    prompts.write_text(json.dumps({"objects": [{"id": 4, "points": [[width / 2, height / 2, 1]], "box": None}]}))
    done = grs("segment", SAMPLE, "--prompts", prompts, "--out", out)
    assert done.code == 0, done.error
    assert set(np.unique(np.asarray(Image.open(out / "segments/masks.png")))) == {0, 4}


FOLDER = "dir ünï 表 (1) & 'x' #2"
OTHER_TEXTS = {"--policy", "--interface", "--place", "--model", "--python", "--root-path", "url"}
"""Arguments that hold a path within another text, opened by the command's own process, or no path of this machine."""


def all_parsers(top: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], list]]:
    actions = list(top._actions)
    subparsers = [action for action in actions if isinstance(action, argparse._SubParsersAction)]
    if not any(action.required for action in subparsers):
        yield words, [action for action in actions if action not in subparsers and action.dest != "help"]
    for choice in subparsers:
        for name, command in choice.choices.items():
            yield from all_parsers(command, (*words, name))


COMMANDS = {" ".join(words): actions for words, actions in all_parsers(parser())}


def test_every_argument_that_is_a_path_is_absolute_before_its_command_runs(tmp_path, monkeypatch):
    for command, actions in COMMANDS.items():
        for action in actions:
            looks_so = any(word in f"{action.metavar} {action.help}" for word in ("FILE", "PATH", "DIR", "folder of"))
            known = action.type is Path or action.nargs == 0 or OTHER_TEXTS & {*action.option_strings, action.dest}
            assert known or not looks_so, (command, action.dest)
    monkeypatch.chdir(tmp_path)
    given = argparse.Namespace(one=Path(FOLDER), some=[Path("a"), Path("b")], text="a")
    assert vars(with_absolute_paths(given)) == {
        "one": tmp_path / FOLDER, "some": [tmp_path / "a", tmp_path / "b"], "text": "a"
    }  # fmt: skip


def test_paths_through_links_with_spaces_and_unicode_are_opened_and_written(tmp_path, monkeypatch, capsys):
    """The links lead to files whose names have no ending, as in the caches of git-annex, DVC and Hugging Face."""
    given, kept = tmp_path / FOLDER, tmp_path / "kept"
    given.mkdir()
    kept.mkdir()
    trimesh.creation.box([0.1, 0.1, 0.1]).export(tmp_path / "box.stl")
    shutil.make_archive(str(tmp_path / "pack"), "zip", tmp_path, "box.stl")
    episodes = SAMPLE.parent / "episodes"
    sources = (SAMPLE.parent / "desk", episodes / "real.npz", episodes / "sim.npz", tmp_path / "pack.zip")
    for number, source in enumerate(sources):
        (shutil.copytree if source.is_dir() else shutil.copy)(source, kept / str(number))
        (given / source.name).symlink_to(Path(os.path.relpath(kept / str(number), given)))
    (kept / "out").mkdir()
    (given / "out").symlink_to(kept / "out")
    monkeypatch.chdir(given)
    commands = ["run desk --until frame --out out/project", "episode real.npz --out out/real.csv"]
    commands += ["compare real.npz sim.npz --out out/compared", "library --to out/library add pack.zip"]
    for command in commands:
        assert main(command.split()) == 0, command
    assert {one.name for one in (kept / "out").iterdir()} == {"project", "real.csv", "compared", "library"}
    assert "[1/1] box:" in capsys.readouterr().out


MORE = [pytest.param(name, marks=pytest.mark.soak) for name in ("m2t2_02", "grasp6dof_white_bowl", "uoc_0")]


@pytest.mark.frames
@pytest.mark.parametrize("name", ["posecnn_0", *MORE])
def test_a_real_frame_ends_in_a_twin_that_stands_and_a_task_that_is_solved(grs, tmp_path, name):
    done = grs("run", reference_frame(name), "--out", tmp_path / name)
    assert done.code == 0 and read(tmp_path / name / "solution.json")["solved"] is True, done.error
    standing_twin(tmp_path / name)
