"""A proposed task tried once, as photographed: what the table looks like then, and whether the robot can do it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from PIL import Image

from pipeline.geometry import Pose
from pipeline.models import ModelError
from pipeline.models.rules import RulesModel
from pipeline.router import Runner, first_failure, write
from pipeline.scene import SceneError
from pipeline.scene.rendering import draw
from pipeline.simulation import kit
from pipeline.simulation.physics import GRIPPER
from pipeline.simulation.sandbox import Limits
from pipeline.simulation.testimony import RunRecord
from pipeline.solving import SolvingError, keep_model
from pipeline.store import digest, read_json, write_json
from pipeline.tasks import Task

DRAWN, WIDTH = 900, 360
"""Pixels across the drawing, and across the part of it that is kept."""
SOLVED = 0.99
AWAY = 9.0
"""Metres that the hand is lifted by for a picture, out of the camera's sight."""


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What came of it. Kept in the project as tasks/<key>.json, its picture beside it as <key>.png."""

    key: str
    solved: bool | None
    """None where it could not be tried."""
    why: str
    """Why it was not solved, or not tried; empty where it was solved."""
    carries: int
    """How often something was carried, opened or shut."""
    poses: Mapping[str, Pose]
    """The layout it ended in, the goal layout where it was solved: world_from_object by name."""


def rehearse(task: Task, project_dir: Path, sandbox: Runner) -> Rehearsal:
    """The rules' first program for the task, run once; found again where nothing changed. Raises SandboxError."""
    return known(task, project_dir) or _kept(_tried(task, Path(project_dir), sandbox), Path(project_dir))


def known(task: Task, project_dir: Path) -> Rehearsal | None:
    """What is known from before; None where the task was not tried on the scene as it is."""
    said = read_json(_file(project_dir, _key(task, project_dir), "json"))
    if said is None:
        return None
    poses = {name: Pose(p["pos"], p["quat_wxyz"]) for name, p in said["poses"].items()}
    return Rehearsal(said["key"], said["solved"], said["why"], said["carries"], poses)


def picture(key: str, project_dir: Path) -> Path | None:
    """A PNG of the layout a rehearsal ended in, seen as the photograph was taken; None where there is none."""
    file = _file(project_dir, Path(key).name, "png")
    return file if file.is_file() else None


def _tried(task: Task, project_dir: Path, sandbox: Runner) -> Rehearsal:
    key = _key(task, project_dir)
    try:
        program = write(task, kit.Scene.load(project_dir), RulesModel())
    except ModelError as error:
        return Rehearsal(key, None, str(error), 0, {})
    report, record = sandbox.run(program, project_dir, seeds=(0,), checks=False, limits=Limits(seconds=60.0))
    solved = bool(report.reward) and report.reward[0] > SOLVED
    why = "" if solved else str(report.evidence.get("why") or first_failure(report))
    if record is None or not len(record.qpos):
        return Rehearsal(key, False, why or "it came to no end", 0, {})
    carries = sum(event["verb"] in ("place", "move aside", "open", "shut") for event in record.events)
    return Rehearsal(key, solved, why, carries, _ended(record, key, project_dir))


def _ended(record: RunRecord, key: str, project_dir: Path) -> dict[str, Pose]:
    """The poses at the end of a rollout; draws them on the way."""
    try:
        path = keep_model(record.xml, project_dir, f"rehearsal_{key}")
        model = mujoco.MjModel.from_xml_path(str(path))
        path.unlink()
    except (SolvingError, ValueError):
        return {}
    data, qpos = mujoco.MjData(model), handless(model, record.qpos[-1])
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    _draw(model, qpos, _file(project_dir, key, "png"))
    names = [model.body(i).name for i in range(1, model.nbody) if not model.body(i).name.startswith(GRIPPER)]
    return {name: Pose(data.body(name).xpos.copy(), data.body(name).xquat.copy()) for name in names}


def handless(model: mujoco.MjModel, qpos: np.ndarray) -> np.ndarray:
    """The same poses, of shape (nq,), with the floating gripper out of sight; another robot stays."""
    poses, joint = np.array(qpos), mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, f"{GRIPPER}_z")
    if joint >= 0:
        poses[model.jnt_qposadr[joint]] += AWAY
    return poses


def _draw(model: mujoco.MjModel, qpos: np.ndarray, path: Path) -> None:
    """Nothing where there is no camera, or no OpenGL: the rest is worth having without a picture."""
    camera = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, "photo")
    if camera < 0:
        return
    wide, high = model.cam_resolution[camera]
    size = (DRAWN, int(DRAWN * (high / wide if wide > 1 else 0.75)))
    try:
        seen = draw(model, size, "photo", qpos)
    except SceneError:
        return
    path.parent.mkdir(exist_ok=True)
    Image.fromarray(seen.rgb).crop(_around(seen.labels > 0)).resize((WIDTH, WIDTH * 2 // 3)).save(path)


def _around(things: np.ndarray) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of the part to show, 3 to 2: all things with room around them."""
    rows, columns = np.nonzero(things)
    height, width = things.shape
    if not len(rows):
        return 0, 0, width, height
    middle = (columns.min() + columns.max()) / 2, (rows.min() + rows.max()) / 2
    half = max(np.ptp(columns) / 2, np.ptp(rows) * 0.75, width / 6) * 1.3
    half = min(half, width / 2, height * 0.75)
    left = float(np.clip(middle[0] - half, 0, width - 2 * half))
    top = float(np.clip(middle[1] - half * 2 / 3, 0, height - half * 4 / 3))
    return int(left), int(top), int(left + 2 * half), int(top + half * 4 / 3)


def _kept(done: Rehearsal, project_dir: Path) -> Rehearsal:
    poses = {name: {"pos": p.pos, "quat_wxyz": p.quat_wxyz} for name, p in done.poses.items()}
    said: dict[str, Any] = {"key": done.key, "solved": done.solved, "why": done.why, "carries": done.carries}
    write_json(_file(project_dir, done.key, "json"), said | {"poses": poses})
    return done


def _key(task: Task, project_dir: Path) -> str:
    scene = (Path(project_dir) / "scene.json").read_text("utf-8")
    return digest("rehearsal", scene, task.instruction, task.objects, task.goals)


def _file(project_dir: Path, key: str, ending: str) -> Path:
    return Path(project_dir) / "tasks" / f"{key}.{ending}"
