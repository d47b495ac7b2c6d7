"""Rehearsal of a proposed task: a rollout on the scene as observed, with a picture of the layout it ends in, and one on
another layout."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar, Unpack

import mujoco
import numpy as np
from PIL import Image
from pydantic import BaseModel, ValidationError

from pipeline.geometry import Pose, bounding_box
from pipeline.models import ModelError
from pipeline.planner import PlannerModel
from pipeline.router import ProgramRunner, first_failure, write_program
from pipeline.scene import SceneError
from pipeline.scene.rendering import render_model, show_added_containers
from pipeline.simulation import kit
from pipeline.simulation.physics import GRIPPER
from pipeline.simulation.program import Program
from pipeline.simulation.robots import robot_kind
from pipeline.simulation.run_record import SOLVED, RunRecord
from pipeline.simulation.sandbox.runner import RunOptions
from pipeline.solving import SolvingError, save_model
from pipeline.store import StoreError, digest, read_json, write_json
from pipeline.tasks import Task

RENDER_WIDTH, PICTURE_WIDTH = 900, 360
"""Width in pixels of the rendering, and of the saved part of it."""
LAYOUTS, LAYOUTS_OF_ARMS = (0, 1), (0, 1, 2)
"""Seeds of a rehearsal: the photographed layout, and a drawn one; two with an arm, which fails on drawn layouts more
often (docs/results/arm.md)."""
ON_ANOTHER_LAYOUT = "on another layout: "
"""Beginning of the reason where the photographed layout is solved and a drawn one is not."""
CARRY_VERBS = ("place", "hand over", "pass", "move aside", "open", "shut")
"""Events of a rollout that carry an object or move a part."""


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """Result of a rehearsal, saved in the project as tasks/<key>.json with its picture as tasks/<key>.png."""

    key: str
    solved: bool | None
    """Whether it was solved on every layout; None if no program could be written for the task."""
    reason: str
    """Why the first layout that failed was not solved, or why none was tried; empty if all were solved."""
    carries: int
    """Number of objects carried and of parts opened or closed."""
    poses: Mapping[str, Pose]
    """Where the photographed layout ends, world_from_object by name: the goal layout if it was solved."""


class SavedPose(BaseModel):
    """A pose as JSON."""

    pos: tuple[float, float, float]
    quat_wxyz: tuple[float, float, float, float]


class SavedResult(BaseModel):
    """The result of a dry run as JSON; a rehearsal's has more."""

    why: str
    poses: dict[str, SavedPose] | None = None
    """None in files of older studios."""

    def final_poses(self) -> dict[str, Pose]:
        """Return where the layout ends, world_from_object by name."""
        return {name: Pose(np.array(p.pos), np.array(p.quat_wxyz)) for name, p in (self.poses or {}).items()}


class SavedRehearsal(SavedResult):
    """A `Rehearsal` as JSON."""

    key: str
    solved: bool | None
    carries: int


Saved = TypeVar("Saved", bound=SavedResult)


def rehearse(task: Task, project_dir: Path, sandbox: ProgramRunner, robot: str = "gripper") -> Rehearsal:
    """Run the planner's first program for the task on a few layouts until one fails, with a robot of robots.ROBOTS.

    Returns the saved result if scene, task and robot are unchanged.

    Raises SandboxError.
    """
    saved = read_rehearsal(task, project_dir, robot)
    return saved or _saved(_run(task, Path(project_dir), sandbox, robot), Path(project_dir))


def rehearsed_layouts(robot: str) -> tuple[int, ...]:
    """Return the seeds of the layouts that a rehearsal with a robot of robots.ROBOTS tries. Raises RobotError."""
    return LAYOUTS if robot_kind(robot).floats else LAYOUTS_OF_ARMS


def read_rehearsal(task: Task, project_dir: Path, robot: str = "gripper") -> Rehearsal | None:
    """Return the saved result; None if the task was not rehearsed on the current scene with that robot, or if the file
    is damaged: it is rehearsed again then."""
    saved = read_result(_file(project_dir, _key(task, project_dir, robot), "json"), SavedRehearsal)
    return saved and Rehearsal(saved.key, saved.solved, saved.why, saved.carries, saved.final_poses())


def read_result(file: Path, kind: type[Saved]) -> Saved | None:
    """Return the result that a file of tasks/ holds; None without one that can be read."""
    with suppress(StoreError, ValidationError):
        return kind.model_validate(read_json(file))
    return None


def picture_path(key: str, project_dir: Path) -> Path | None:
    """Return the PNG of the final layout, seen by the camera of the photograph; None if there is none."""
    file = _file(project_dir, Path(key).name, "png")
    return file if file.is_file() else None


def _run(task: Task, project_dir: Path, sandbox: ProgramRunner, robot: str) -> Rehearsal:
    key = _key(task, project_dir, robot)
    try:
        program = write_program(task, kit.Scene.load(project_dir), PlannerModel())
    except ModelError as error:
        return Rehearsal(key, None, str(error), 0, {})
    reason, record = run_layouts(program, project_dir, sandbox, rehearsed_layouts(robot), robot=robot)
    solved = not reason
    if record is None or not len(record.qpos):
        return Rehearsal(key, False, reason or "the rollout has no states", 0, {})
    carries = sum(event["verb"] in CARRY_VERBS for event in record.events)
    return Rehearsal(key, solved, reason, carries, _final_layout(record, key, project_dir))


def run_layouts(
    program: Program, project_dir: Path, sandbox: ProgramRunner, seeds: Sequence[int], **options: Unpack[RunOptions]
) -> tuple[str, RunRecord | None]:
    """Roll a program out on one layout after the other until one is not solved.

    Return why that one is not, empty if all are solved, and the record of the first layout. Raises SandboxError.
    """
    first: RunRecord | None = None
    for number, seed in enumerate(seeds):
        report, record = sandbox.run(replace(program, checks=""), project_dir, (seed,), **options)
        first = first if number else record
        if not report.reward or report.reward[0] <= SOLVED:
            reason = str(report.evidence.get("why") or first_failure(report))
            return f"{ON_ANOTHER_LAYOUT}{reason}" if number else reason, first
    return "", first


def _final_layout(record: RunRecord, key: str, project_dir: Path) -> dict[str, Pose]:
    """Return the poses at the end of a rollout and save a picture of them; no poses if the model cannot be loaded."""
    end = final_state(record, project_dir, key)
    if end is None:
        return {}
    _save_picture(*end, _file(project_dir, key, "png"))
    return body_poses(*end)


def final_state(record: RunRecord, project_dir: Path, key: str) -> tuple[mujoco.MjModel, np.ndarray] | None:
    """Return the model of a rollout and its last qpos (nq,) without the gripper; None if it has none to show.

    `key` names the files of the model while it is loaded.
    """
    try:
        path = save_model(record.xml, project_dir, f"rehearsal_{key}")
        model = mujoco.MjModel.from_xml_path(str(path))
        path.unlink()
    except (SolvingError, ValueError):
        return None
    return (model, without_gripper(model, record.qpos[-1])) if len(record.qpos) else None


def body_poses(model: mujoco.MjModel, qpos: np.ndarray) -> dict[str, Pose]:
    """Return world_from_body of all bodies but the gripper's, by name."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    robot = model.body(GRIPPER).id
    names = [model.body(i).name for i in range(1, model.nbody) if model.body_rootid[i] != robot]
    return {name: Pose(data.body(name).xpos.copy(), data.body(name).xquat.copy()) for name in names}


def without_gripper(model: mujoco.MjModel, qpos: np.ndarray) -> np.ndarray:
    """Return a copy of qpos (nq,) with the floating gripper lifted out of the picture. Other robots stay."""
    lifted, joint = np.array(qpos), mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, f"{GRIPPER}_z")
    if joint >= 0:
        # Height in metres by which the gripper is lifted out of the picture
        lifted[model.jnt_qposadr[joint]] += 9.0
    return lifted


def _save_picture(model: mujoco.MjModel, qpos: np.ndarray, path: Path) -> None:
    """Render the layout and save it. Does nothing without a camera or without OpenGL: the picture is optional."""
    camera = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, "photo")
    if camera < 0:
        return
    columns, rows = model.cam_resolution[camera]
    size = (RENDER_WIDTH, int(RENDER_WIDTH * (rows / columns if columns > 1 else 0.75)))
    show_added_containers(model)
    try:
        rendered = render_model(model, size, "photo", qpos)
    except SceneError:
        return
    path.parent.mkdir(exist_ok=True)
    part = Image.fromarray(rendered.rgb).crop(_crop_box(rendered.labels > 0))
    part.resize((PICTURE_WIDTH, PICTURE_WIDTH * 2 // 3)).save(path)


def _crop_box(objects: np.ndarray) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of a 3:2 box with a margin around all objects, given as a mask (H, W)."""
    box = bounding_box(objects)
    height, width = objects.shape
    if not box.width:
        return 0, 0, width, height
    centre = (box.left + box.right - 1) / 2, (box.top + box.bottom - 1) / 2
    half = max((box.width - 1) / 2, (box.height - 1) * 0.75, width / 6) * 1.3
    half = min(half, width / 2, height * 0.75)
    left = float(np.clip(centre[0] - half, 0, width - 2 * half))
    top = float(np.clip(centre[1] - half * 2 / 3, 0, height - half * 4 / 3))
    return int(left), int(top), int(left + 2 * half), int(top + half * 4 / 3)


def _saved(rehearsal: Rehearsal, project_dir: Path) -> Rehearsal:
    poses = {name: {"pos": p.pos, "quat_wxyz": p.quat_wxyz} for name, p in rehearsal.poses.items()}
    value = {"key": rehearsal.key, "solved": rehearsal.solved, "why": rehearsal.reason, "carries": rehearsal.carries}
    write_json(_file(project_dir, rehearsal.key, "json"), value | {"poses": poses})
    return rehearsal


def _key(task: Task, project_dir: Path, robot: str) -> str:
    scene = (Path(project_dir) / "scene.json").read_text("utf-8")
    other_robot = () if robot == "gripper" else (robot,)
    return digest(
        "rehearsal", rehearsed_layouts(robot), scene, task.instruction, task.objects, task.goals, *other_robot
    )


def _file(project_dir: Path, key: str, suffix: str) -> Path:
    return Path(project_dir) / "tasks" / f"{key}.{suffix}"
