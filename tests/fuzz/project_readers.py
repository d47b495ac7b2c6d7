"""Readers of files of a workspace and of projects, which may come from another studio, a crash or an editor."""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path

import numpy as np

from pipeline.closed_loop import evaluation_files
from pipeline.closed_loop.episodes import PolicyEpisode
from pipeline.closed_loop.evaluation import KEPT
from pipeline.closed_loop.real_log import RealLog, log_path, read_logs
from pipeline.feasibility import feasibility_file, feasible_first, read_feasibility
from pipeline.frame import Doubt
from pipeline.geometry import Pose
from pipeline.learning.judging.failures import Failure
from pipeline.learning.judging.rollouts import RecordedEpisode, read_rollouts, write_rollouts
from pipeline.learning.learning_files import SubtaskFolder, TrainingRecord
from pipeline.learning.start_states import StartState, read_states, write_states
from pipeline.learning.subtask import Subtask, WeightedTerm, read_subtasks, write_subtasks
from pipeline.learning.terms import GoalDistance, HandDistance
from pipeline.models.budget import spent_usd
from pipeline.models.model import ModelError
from pipeline.models.settings import ModelSettings, load_settings, save_settings
from pipeline.models.trace.call_log import CallLog, totals
from pipeline.models.trace.recorder import _is_answer, read_trace
from pipeline.models.trace.replay import ReplayModel
from pipeline.project import Project
from pipeline.project.confidence_record import read_confidences, save_confidences
from pipeline.project.curation import Curation, read_curation, save_curation
from pipeline.project_sets import FOLDER as SETS
from pipeline.project_sets import ProjectSet, SetSettings, read_set, read_sets
from pipeline.rehearsal import Rehearsal, _key, _saved, read_rehearsal
from pipeline.router.round_record import read_record
from pipeline.simulation import kit
from pipeline.simulation.robots.workspace import FILE as ROBOT
from pipeline.simulation.robots.workspace import StoredCamera, StoredFingers, StoredReach, StoredRobot, read_added
from pipeline.simulation.run_record import RunRecord
from pipeline.store import LOCK_FILE, append_lines, parse_json, write_json
from pipeline.task_generation.demands import Demands
from pipeline.task_generation.task_files import TriedTask, append_tried, read_tried
from pipeline.tasks import Task, task_from_json
from pipeline.tracking.track import Event, Track
from pipeline.tracking.track_files import read_track, write_track
from pipeline.variation import variation_files
from pipeline.variation.study import Outcome
from studio.batch.batch_file import BatchFile, BatchItem, read_batch
from studio.board.project_facts import read_facts
from tests.fuzz.reader import Files, Reader, files_in, files_of, save

ROOT = Path(__file__).resolve().parents[2]
PROJECT_FILES = ("project.json", "decisions.jsonl", "descriptions.json", "matches.json", "scene.json")


@cache
def _kept_project() -> Mapping[str, bytes]:
    top, blocks = ROOT / "tests" / "reliability" / "kept_projects" / "schema_1", ROOT / "sample_scenes" / "blocks"
    pictures = {f"frame/{name}": (blocks / name).read_bytes() for name in ("rgb.png", "depth.png")}
    return pictures | files_in(top)


def _project_file(*names: str) -> Callable[[], Files]:
    """Return a seed of these files; the rest of the project is `_read_project`'s."""
    return lambda: {name: _kept_project()[name] for name in names if name in _kept_project()}


def _read_project(folder: Path) -> object:
    """Open a project with the files in `folder` in place of its own, and read everything in it."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch, "project")
        save({**_kept_project(), **files_in(folder)}, home)
        project = Project.open(home)
        return [
            project.name, project.stages(), project.segments(), project.descriptions(), project.matches(),
            project.scene(), project.tasks(), project.task(), project.rounds(), project.best_round(),
            project.solution(), project.asset_overrides(), project.question_overrides(), project.evidence(),
            read_facts(home), read_record(home / "rounds" / "000"),
        ]  # fmt: skip


def _read_trace(folder: Path) -> object:
    calls = CallLog(folder / "trace.jsonl").read()
    parts = [
        (one.kind, one.subject, one.error, one.seconds, one.messages, one.pictures, one.attempts, one.tokens, one.cost,
         one.raw_reply, one.model, one.stage, one.started_at)
        for one in calls
    ]  # fmt: skip
    lines = list(read_trace(folder / "trace.jsonl"))
    answers = [(line["asked"], line["output.value"]) for line in lines if _is_answer(line)]
    with suppress(ModelError):
        ReplayModel(folder / "trace.jsonl")
    return parts, totals(calls), answers, spent_usd(lines)


# ---------------------------------------------------------------------- files beside the project's own

ZEROS = np.zeros((3, 2))
TASK = Task("put", "Put the red cube into the bowl.", ("red_cube",), ("red_cube inside white_bowl",))


def _read_beside(read: Callable[[Path], object]) -> Callable[[Path], object]:
    """Return a reader of files in a project, whose own files are the kept one's."""

    def read_folder(folder: Path) -> object:
        with tempfile.TemporaryDirectory() as scratch:
            save({**_kept_project(), **files_in(folder)}, Path(scratch))
            return read(Path(scratch))

    return read_folder


def _beside(write: Callable[[Path], object]) -> Callable[[], Files]:
    """Return a seed of the files that a function writes into a project."""

    def seed() -> Files:
        def write_all(folder: Path) -> None:
            save({**_kept_project()}, folder)
            write(folder)

        return {name: content for name, content in files_of(write_all)().items() if name not in _kept_project()}

    return seed


def _write_batch(folder: Path) -> None:
    items = [BatchItem("/frames/a", "a", "done", "scene", 2.5), BatchItem("/frames/b", "b", "failed", message="dark")]
    BatchFile(folder, {"until": "scene"}, items).write()


def _write_sets(folder: Path) -> None:
    made = ProjectSet("one", SetSettings(about="Cubes."), {"a": "train", "b": "test"}, 1.5e9)
    write_json(folder / SETS / "one.json", {"schema": 1, **asdict(made)})


def _write_notes(folder: Path) -> None:
    save_curation(folder, Curation("Cubes", ("a", "b"), "rejected", "dark", "ann", 1.5e9))
    save_confidences(folder, {1: 0.5, 2: 1.0})
    (folder / LOCK_FILE).unlink()


def _write_tried(folder: Path) -> None:
    for state in ("kept", "rejected"):
        tried = TriedTask(state, TASK, state, "", 1, "s", ("cup",), (), {"cup": "cup"}, Demands(1, 1, 0.02, 3), 3, 2)
        append_tried(folder, "run", tried)


def _write_track(folder: Path) -> None:
    poses, states = np.tile([0, 0, 0, 1.0, 0, 0, 0], (3, 2, 1)), np.zeros((3, 2), np.uint8)
    events, doubts = (Event(0.5, "picked", "cup", "table"),), (Doubt("camera", "why", "cure"),)
    track = Track(("cup", "box"), np.arange(3.0), poses, states, ZEROS, events, doubts)
    (folder / "scene").mkdir()
    (folder / "scene" / "scene.xml").write_text("<mujoco/>")
    write_track(track, folder, folder / "track", "recording")
    shutil.rmtree(folder / "scene")
    (folder / "track" / "twin.xml").unlink()


SETTINGS = ModelSettings("openai", "gpt-4o", base_url="http://localhost:8000/v1", temperature=0.5, ceiling_usd=2.0)
EPISODE = PolicyEpisode("7-000", True, 1.0, 2.5, None, "", 0.1, {"count": 3, "late": 0, "milliseconds": 2.0})


def _write_evaluation(folder: Path) -> None:
    conditions = [{"id": "7-000", "values": {"x": 0.1, "light": "dim"}}]
    write_json(folder / "conditions.json", {"task": "digest", "policies": ["demonstration"], "conditions": conditions})
    row = {name: getattr(EPISODE, name) for name in KEPT}
    append_lines(folder / "outcomes.jsonl", [{"policy": name, **row} for name in ("demonstration", "learned")])
    write_json(log_path(folder, "7-000").with_suffix(".json"), asdict(RealLog("log.bag", 2.5, None, "no poses")))


def _read_evaluation(folder: Path) -> object:
    outcomes = evaluation_files.read_outcomes(folder).values()
    episodes = [PolicyEpisode(**{name: row[name] for name in KEPT if name in row}) for row in outcomes]
    return evaluation_files.read_conditions(folder), episodes, read_logs(folder)


def _write_variations(folder: Path) -> None:
    rows = [{"id": "000", "start": "digest", "values": {"x": 0.1}}, {"id": "001", "start": "d", "values": {"x": 0.2}}]
    append_lines(folder / variation_files.CONDITIONS, rows)
    for id, record in (("000", None), ("001", RunRecord(np.arange(3.0), ZEROS, ZEROS, xml="<mujoco/>"))):
        variation_files.append_outcome(folder, "gripper", Outcome(id, record is None, 0.5, "", record), "policy")


def _read_variations(folder: Path) -> object:
    outcomes = variation_files.read_outcomes(folder, "gripper", "policy")
    rollouts = [variation_files.read_rollout(path) for path in folder.rglob("*.npz")]
    return variation_files.read_conditions(folder), outcomes, rollouts


def _write_learning(folder: Path) -> None:
    goal = kit.inside("red_cube", "white_bowl")
    reward = (WeightedTerm(GoalDistance(goal), 2.0), WeightedTerm(HandDistance("red_cube")))
    write_subtasks(folder / "subtasks.json", [Subtask("put", "Put it in.", "reset", (goal,), reward)])
    inner = SubtaskFolder(folder)
    write_states(inner.end_states, [StartState(0, np.zeros(5)), StartState(1, np.ones(5), 2, np.zeros(11), 1)])
    episodes = [RecordedEpisode(n, not n, 1.5, ZEROS, ZEROS, ZEROS, Failure(0.1, "fell", "t.") if n else None)
                for n in range(2)]  # fmt: skip
    write_rollouts(inner.evaluation_rollouts, episodes)
    append_lines(inner.curve, [{"steps": 0, "cloned": 12, "success": 0.5}, {"steps": 100, "success": 0.9}])
    write_json(folder / "training.json", asdict(TrainingRecord("key", 100, 2.0, 2.0, 0.9, 0.9, 1)))
    write_json(inner.seam_file, {"key": "key", "before": 0.5, "after": 0.9, "layouts": 20, "steps": 100})


def _read_learning(folder: Path) -> object:
    inner = SubtaskFolder(folder)
    return [
        read_subtasks(folder / "subtasks.json"), read_states(inner.end_states), inner.imitated(), inner.tuned(),
        read_rollouts(inner.evaluation_rollouts), inner.training(), inner.training("key"),
    ]  # fmt: skip


def _write_robot(folder: Path) -> None:
    fingers = StoredFingers(
        actuators=("grip",), open_command=(0.1,), close_command=(0,), max_opening=0.08, drive=(0, 1), full_drive=1,
        widths=(0.08, 0), tips=(0, 0.01), joints={"jaw": (0, 0.04)}, pads=(("left",), ("right",)), palm_offset=0.02,
        pad_half_width=0.01, depth=0.02, torsion=0.1,
    )  # fmt: skip
    reach = StoredReach(near=0.2, far=0.5, places=(0.2, 0.5), parts=(0.3, 0.5))
    camera = StoredCamera(name="wrist", mounted_on="hand", fovy_deg=60, position=(0, 0, 0), quat_wxyz=(1, 0, 0, 0))
    stored = StoredRobot(
        schema=1, name="own", source_file="own.urdf", joints=("a", "b"), servos=("sa", "sb"), servo_lag=(0.1, 0.1),
        servo_friction=(0, 0), tool_site="pinch", hand="hand", links=("la",), fingers=fingers, reach=reach,
        home=(0, 0.5), base_height=0.02, cameras=(camera,), pair=((0, 0.3, 0), (0, -0.3, 0)),
    )  # fmt: skip
    write_json(folder / "own" / ROBOT, stored.model_dump(mode="json", by_alias=True))


def _write_tries(folder: Path) -> None:
    """Write the results of a rehearsal and of a dry run of the project's first task."""
    task = _first_task(folder)
    poses = {"red_cube": Pose(np.zeros(3), np.array([1.0, 0, 0, 0]))}
    _saved(Rehearsal(_key(task, folder, "gripper"), True, "", 1, poses), folder)
    rows = {name: {"pos": pose.pos, "quat_wxyz": pose.quat_wxyz} for name, pose in poses.items()}
    write_json(feasibility_file(task, folder, "arm"), {"why": "too far", "poses": rows})


def _first_task(folder: Path) -> Task:
    return task_from_json(parse_json((folder / "tasks.json").read_bytes())[0])


def _read_tries(folder: Path) -> object:
    task = _first_task(folder)
    return read_rehearsal(task, folder), read_feasibility(task, folder, "arm"), feasible_first([task], folder, "arm")


PROJECT_READERS: dict[str, Reader] = {
    **{name: Reader(_read_project, _project_file(name)) for name in PROJECT_FILES},
    "task.json": Reader(_read_project, _project_file("task.json", "tasks.json")),
    "masks of a project": Reader(_read_project, _project_file("segments/coco.json", "segments/automatic/coco.json")),
    "rounds": Reader(_read_project, _project_file("rounds/000/report.json", "rounds.jsonl")),
    "solution": Reader(_read_project, _project_file("solution.json", "solution.npz")),
    "trace": Reader(_read_trace, _project_file("trace.jsonl")),
    "batch": Reader(read_batch, files_of(_write_batch)),
    "sets": Reader(lambda folder: (read_sets(folder), read_set(folder, "one")), files_of(_write_sets)),
    "curation and confidences": Reader(
        _read_beside(lambda folder: (read_curation(folder), read_confidences(folder))), _beside(_write_notes)
    ),
    "tried tasks": Reader(read_tried, files_of(_write_tried)),
    "track": Reader(lambda folder: read_track(folder / "track"), files_of(_write_track)),
    "evaluation files": Reader(_read_evaluation, files_of(_write_evaluation)),
    "variation files": Reader(_read_variations, files_of(_write_variations)),
    "learning files": Reader(_read_learning, files_of(_write_learning)),
    "added robot": Reader(lambda folder: read_added(folder / "own"), files_of(_write_robot)),
    "model settings": Reader(load_settings, files_of(lambda folder: save_settings(SETTINGS, folder))),
    "rehearsals": Reader(_read_beside(_read_tries), _beside(_write_tries)),
}
