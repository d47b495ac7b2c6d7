"""The commands and the project folder that outside tools rely on (docs/architecture.md, "Project folder")."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import mujoco
import numpy as np
import privacy
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

ROOT = Path(__file__).parent.parent
COMMAND = Path(sys.executable).with_name("grs-studio")
SAMPLE = ROOT / "sample_scenes" / "blocks"


def grs(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("GRS_", "OPENAI_"))}
    return subprocess.run(
        [str(COMMAND), *map(str, arguments)], capture_output=True, text=True, env=inherited | environment, timeout=300
    )


def read(path: Path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sample frame after all stages, made by a marked person in a marked folder (privacy.py)."""
    folder = tmp_path_factory.mktemp(privacy.MARK)
    frame, out = Path(shutil.copytree(SAMPLE, folder / "frames" / "blocks")), folder / "blocks"
    author = PngInfo()
    author.add_text("Author", privacy.MARK, zip=True)
    Image.open(SAMPLE / "rgb.png").save(frame / "rgb.png", pnginfo=author)
    done = grs("run", frame, "--out", out, **privacy.identity(folder))
    assert done.returncode == 0, done.stderr
    return out


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """Assert exit code 2 and one line with these words."""
    assert done.returncode == 2, (done.returncode, done.stderr)
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    for word in words:
        assert word in lines[0], lines[0]
    assert "Traceback" not in done.stderr


# ---------------------------------------------------------------------- the project folder


def test_every_stage_is_done_timed_and_versioned(project):
    record = read(project / "project.json")
    assert record["schema"] == 1
    assert set(record["stages"].values()) == {"done"}
    assert list(record["stages"]) == [
        "frame", "segments", "descriptions", "matches", "scene", "task", "rounds", "solution"
    ]  # fmt: skip
    assert all(seconds >= 0 for seconds in record["seconds"].values())
    assert record["versions"]["mujoco"] == mujoco.__version__


def test_the_frame_is_saved_as_it_was_loaded(project):
    for name in ("rgb.png", "depth.png"):
        saved, original = (np.asarray(Image.open(folder / name)) for folder in (project / "frame", SAMPLE))
        if name == "rgb.png":
            assert np.array_equal(saved, original[..., :3])
        else:
            scale = read(project / "frame/camera.json")["depth_scale"], read(SAMPLE / "camera.json")["depth_scale"]
            np.testing.assert_allclose(saved * scale[0], original * scale[1], atol=6e-4)


def test_every_segment_has_a_description_and_every_object_a_match_and_a_body(project):
    labels = np.asarray(Image.open(project / "segments/masks.png"))
    described = read(project / "descriptions.json")
    assert labels.dtype == np.uint16 or labels.dtype == np.int32
    assert set(np.unique(labels)) - {0} == {d["segment_id"] for d in described}
    objects = {d["segment_id"]: d["name"] for d in described if d["is_object"]}
    assert {m["segment_id"] for m in read(project / "matches.json")} == set(objects)
    scene = read(project / "scene.json")
    assert {p["segment_id"] for p in scene["placements"]} == set(objects)
    model = mujoco.MjModel.from_xml_path(str(project / "scene/scene.xml"))
    for p in scene["placements"]:
        assert objects[p["segment_id"]] in (p["name"], *p["also"]), "the measured name still refers to it"
        assert model.body(p["name"]).jntnum[0] == 1


@pytest.mark.parametrize(
    "file, keys",
    [
        ("descriptions.json", {"segment_id", "is_object", "name", "caption", "attributes", "source"}),
        ("matches.json", {"segment_id", "asset_id", "scale", "reason", "candidates", "source"}),
        ("task.json", {"name", "instruction", "objects", "goals", "source"}),
        (
            "rounds/000/report.json",
            {"checks", "reward", "crash", "timed_out", "violation", "route", "reason", "parent"},
        ),
        ("solution.json", {"solved", "reward"}),
    ],
)
def test_files_have_the_keys_that_other_tools_read(project, file, keys):
    value = read(project / file)
    for entry in value if isinstance(value, list) else [value]:
        assert keys <= set(entry)


def test_coco_masks_equal_the_label_image(project):
    labels = np.asarray(Image.open(project / "segments/masks.png"))
    notes = read(project / "segments/coco.json")["annotations"]
    assert {note["id"] for note in notes} == set(np.unique(labels).tolist()) - {0} != set()
    for note in notes:
        counts, (height, width) = note["segmentation"]["counts"], note["segmentation"]["size"]
        flat = np.repeat(np.arange(len(counts)) % 2, counts)
        assert np.array_equal(flat.reshape((height, width), order="F").astype(bool), labels == note["id"])


def test_the_model_is_at_the_poses_of_scene_json_and_stays_there(project):
    model = mujoco.MjModel.from_xml_path(str(project / "scene/scene.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    placements = read(project / "scene.json")["placements"]
    for p in placements:
        np.testing.assert_allclose(data.body(p["name"]).xpos, p["world_from_object"]["pos"], atol=1e-4)
    mujoco.mj_step(model, data, nstep=int(5 / model.opt.timestep))
    for p in placements:
        assert np.linalg.norm(data.body(p["name"]).xpos - p["world_from_object"]["pos"]) < 0.01, p["name"]


def test_the_scene_loads_alone_when_moved_elsewhere(project, tmp_path):
    shutil.copytree(project / "scene", tmp_path / "elsewhere")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "elsewhere/scene.xml"))
    bodies = {model.body(i).name for i in range(model.nbody)}
    assert {p["name"] for p in read(project / "scene.json")["placements"]} <= bodies


def test_the_solution_has_its_trajectory_and_video(project):
    solution = read(project / "solution.json")
    assert solution["solved"] is True and len(solution["reward"]) == 8
    with np.load(project / "solution.npz", allow_pickle=False) as recorded:
        assert len(recorded["times"]) == len(recorded["qpos"]) == len(recorded["actions"]) > 10
    assert (project / "solution.mp4").stat().st_size > 10_000


def test_rounds_and_model_calls_are_recorded(project):
    rounds = [json.loads(line) for line in (project / "rounds.jsonl").read_text().splitlines()]
    assert len(rounds) == len(list((project / "rounds").iterdir()))
    calls = [json.loads(line) for line in (project / "trace.jsonl").read_text().splitlines()]
    assert any("openinference.span.kind" in call for call in calls)


# ---------------------------------------------------------------------- the commands


def test_neither_the_project_nor_its_export_tells_who_made_it_or_where(project, tmp_path):
    assert privacy.leaks(project) == []
    assert grs("export", project, "--out", tmp_path / "all.zip").returncode == 0
    assert privacy.leaks(tmp_path, privacy.tells()) == []


def test_a_second_run_finds_everything_done(project):
    before = (project / "solution.json").stat().st_mtime_ns
    assert grs("run", SAMPLE, "--out", project).returncode == 0
    assert (project / "solution.json").stat().st_mtime_ns == before


def test_check_prints_the_report_of_a_round(project):
    done = grs("check", project / "rounds/000", "--scene", project)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    saved = read(project / "rounds/000/report.json")
    assert [c["name"] for c in report["checks"]] == [c["name"] for c in saved["checks"]]
    assert report["reward"] == saved["reward"]


def test_check_runs_a_program_that_uses_the_measured_names(project, tmp_path):
    now = {p["name"]: p["also"] for p in read(project / "scene.json")["placements"]}
    name, before = next((name, also[0]) for name, also in now.items() if also)
    (tmp_path / "simulation.py").write_text(
        f"import kit\n\n\ndef build(scene, seed):\n    sim = kit.Simulation(scene, seed)\n"
        f"    sim.goal(kit.near({before!r}, {next(iter(set(now) - {name}))!r}, distance=0.3))\n    return sim\n"
    )
    (tmp_path / "checks.py").write_text(
        f"def check_it_is_there(sim):\n    run = sim.rollout()\n    assert run.end({before!r}).top > 0, 'it is gone'\n"
    )
    done = grs("check", tmp_path, "--scene", project)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["crash"] is None, report["crash"]
    assert {"name": "check_it_is_there", "passed": True}.items() <= report["checks"][0].items()


def test_until_stops_after_a_stage_and_an_instruction_is_used(tmp_path):
    out = tmp_path / "words"
    assert grs("run", SAMPLE, "--out", out, "--until", "scene").returncode == 0
    assert (out / "scene/scene.xml").exists() and not (out / "task.json").exists()
    done = grs("run", SAMPLE, "--out", out, "--until", "task", "--task", "stack the cubes together")
    assert done.returncode == 0, done.stderr
    assert read(out / "task.json")["instruction"] == "stack the cubes together"
    refused_last = grs("run", SAMPLE, "--out", out, "--until", "task", "--task", "put the elephant in the fridge")
    assert refused_last.returncode == 2 and "elephant" in refused_last.stderr.splitlines()[-1]
    assert read(out / "project.json")["stages"]["scene"] == "done"


def test_segment_answers_prompts_from_a_file(tmp_path):
    prompts, out = tmp_path / "prompts.json", tmp_path / "masks"
    width, height = Image.open(SAMPLE / "rgb.png").size
    prompts.write_text(json.dumps({"objects": [{"id": 4, "points": [[width / 2, height / 2, 1]], "box": None}]}))
    done = grs("segment", SAMPLE, "--prompts", prompts, "--out", out)
    assert done.returncode == 0, done.stderr
    assert set(np.unique(np.asarray(Image.open(out / "segments/masks.png")))) == {0, 4}


def test_a_killed_run_resumes_where_it_stopped(tmp_path):
    out = tmp_path / "killed"
    running = subprocess.Popen([str(COMMAND), "run", str(SAMPLE), "--out", str(out)], stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    for line in running.stderr:
        if line.startswith("descriptions"):
            break
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert read(out / "project.json")["stages"]["segments"] == "done"
    done = grs("run", SAMPLE, "--out", out, "--until", "scene")
    assert done.returncode == 0 and "opening the frame" not in done.stderr


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("run", "nowhere", "--out", "{tmp}/x"), ["nowhere"]),
        (("run", SAMPLE, "--out", "{tmp}/full"), ["not empty", "new folder"]),
        (("run", SAMPLE, "--out", "{tmp}/x", "--until", "heaven"), ["heaven", "solution"]),
        (("run", SAMPLE, "--out", "{tmp}/x", "--model", "oracle-9000"), ["oracle-9000", "offline"]),
        (("run", SAMPLE), ["--out"]),
        (("segment", SAMPLE, "--prompts", "{tmp}/none.json", "--out", "{tmp}/x"), ["none.json"]),
        (("check", "{tmp}", "--scene", "{tmp}"), ["simulation.py"]),
        (("--port", "99999"), ["99999", "1024"]),
        (("--auth", "nocolon"), ["USER:PASS"]),
        (("fly",), ["fly"]),
    ],
    ids=lambda v: " ".join(map(str, v)).replace(str(ROOT), "")[:40] if isinstance(v, tuple) else "",
)
def test_bad_input_gets_one_clear_line(tmp_path, arguments, words):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious.txt").write_text("mine")
    refused(grs(*(str(a).format(tmp=tmp_path) for a in arguments)), *words)
    assert (tmp_path / "full" / "precious.txt").read_text() == "mine"


def test_a_library_folder_that_cannot_be_read_is_named_and_skipped(tmp_path):
    library = tmp_path / "library"
    shutil.copytree(ROOT / "sample_scenes/library/red_bowl", library / "red_bowl")
    (library / "broken").mkdir()
    (library / "broken" / "asset.json").write_text("{")
    done = grs("run", SAMPLE, "--out", tmp_path / "out", "--library", library, "--until", "matches")
    assert done.returncode == 0, done.stderr
    assert "broken skipped" in done.stderr
    chosen = {m["asset_id"] for m in read(tmp_path / "out/matches.json")}
    assert chosen <= {None, "red_bowl"}
