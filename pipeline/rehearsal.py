"""Rehearsal of a proposed task: one rollout on the scene as observed, with a picture of the layout it ends in."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import mujoco
import numpy as np
from PIL import Image

from pipeline.geometry import Pose, bounding_box
from pipeline.models import ModelError
from pipeline.planner import PlannerModel
from pipeline.router import ProgramRunner, first_failure, write_program
from pipeline.scene import SceneError
from pipeline.scene.rendering import render_model
from pipeline.simulation import kit
from pipeline.simulation.physics import GRIPPER
from pipeline.simulation.run_record import SOLVED, RunRecord
from pipeline.solving import SolvingError, save_model
from pipeline.store import digest, read_json, write_json
from pipeline.tasks import Task

RENDER_WIDTH, PICTURE_WIDTH = 900, 360
"""Width in pixels of the rendering, and of the saved part of it."""
CARRY_VERBS = ("place", "hand over", "pass", "move aside", "open", "shut")
"""Events of a rollout that carry an object or move a part."""


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """Result of a rehearsal, saved in the project as tasks/<key>.json with its picture as tasks/<key>.png."""

    key: str
    solved: bool | None
    """None if no program could be written for the task."""
    reason: str
    """Why it was not solved or not tried; empty if it was solved."""
    carries: int
    """Number of objects carried and of parts opened or closed."""
    poses: Mapping[str, Pose]
    """Final layout, world_from_object by name: the goal layout if it was solved."""


def rehearse(task: Task, project_dir: Path, sandbox: ProgramRunner, robot: str = "gripper") -> Rehearsal:
    """Run the planner's first program for the task once, with a robot of robots.ROBOTS.

    Returns the saved result if scene, task and robot are unchanged.

    Raises SandboxError.
    """
    saved = read_rehearsal(task, project_dir, robot)
    return saved or _saved(_run(task, Path(project_dir), sandbox, robot), Path(project_dir))


def read_rehearsal(task: Task, project_dir: Path, robot: str = "gripper") -> Rehearsal | None:
    """Return the saved result; None if the task was not rehearsed on the current scene with that robot."""
    value = read_json(_file(project_dir, _key(task, project_dir, robot), "json"))
    if value is None:
        return None
    poses = {name: Pose(p["pos"], p["quat_wxyz"]) for name, p in value["poses"].items()}
    return Rehearsal(value["key"], value["solved"], value["why"], value["carries"], poses)


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
    report, record = sandbox.run(replace(program, checks=""), project_dir, robot=robot)
    solved = bool(report.reward) and report.reward[0] > SOLVED
    reason = "" if solved else str(report.evidence.get("why") or first_failure(report))
    if record is None or not len(record.qpos):
        return Rehearsal(key, False, reason or "the rollout has no states", 0, {})
    carries = sum(event["verb"] in CARRY_VERBS for event in record.events)
    return Rehearsal(key, solved, reason, carries, _final_layout(record, key, project_dir))


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
    return digest("rehearsal", scene, task.instruction, task.objects, task.goals, *other_robot)


def _file(project_dir: Path, key: str, suffix: str) -> Path:
    return Path(project_dir) / "tasks" / f"{key}.{suffix}"
