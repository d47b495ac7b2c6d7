"""A program tried on every seed: is its task solved, and what does that look like.

In a project: solution.json says how it went, solution.npz holds the shown rollout (times, qpos, actions),
scene/solution.xml is the model it ran in (beside the meshes it names, so it loads alone), solution.mp4 shows it.
"""

import os
import re
import threading
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import imageio.v2 as imageio
import mujoco
import numpy as np

from pipeline.errors import StudioError
from pipeline.scene.placement import SceneError
from pipeline.scene.rendering import drawing
from pipeline.simulation.program import Program, Report
from pipeline.simulation.rollout import SOLVED
from pipeline.store import read_json, write_json

SOURCE = "oracle, floating gripper"
FPS = 15
WIDTH = 480
FRAMES = 110
"""At most, so that a film is drawn in a few seconds without a graphics card; longer rollouts play faster."""


class SolvingError(StudioError):
    """A rollout that cannot be kept or shown."""


class Record(Protocol):
    """One rollout as plain data."""

    times: np.ndarray
    qpos: np.ndarray
    actions: np.ndarray
    xml: str
    events: Sequence[dict]
    goals: Sequence[dict]


class Runner(Protocol):
    """What runs programs: the sandbox."""

    def run(
        self, program: Program, project_dir: Path, seeds: Sequence[int] = ..., checks: bool = ..., *, cancel: Any = ...
    ) -> tuple[Report, Any]: ...


@dataclass(frozen=True, eq=False)
class Attempt:
    """One seed."""

    seed: int
    reward: float
    """In [0, 1]; 0 where it crashed."""
    crash: str
    """What stopped it; empty where it ran."""
    why: str
    """Why it is not solved, in the oracle's words; empty where it is."""
    record: Record | None

    @property
    def solved(self) -> bool:
        return self.reward > SOLVED


@dataclass(frozen=True, eq=False)
class Solution:
    """All seeds together, and one rollout to show."""

    seeds: tuple[int, ...]
    reward: tuple[float, ...]
    """One per seed, in [0, 1]."""
    crashes: tuple[str, ...]
    """One per seed; empty where it ran."""
    why: tuple[str, ...]
    """One per seed; empty where it is solved."""
    shown: int | None
    """The seed whose rollout is kept; None where none came to an end."""
    times: np.ndarray
    """Of the shown rollout, of shape (T,), in seconds."""
    qpos: np.ndarray
    """Of shape (T, nq)."""
    actions: np.ndarray
    """Of shape (T, nu): the gripper's x, y, z from its home, its yaw, and the suction."""
    xml: str
    """The model it ran in; its files are beside scene/scene.xml."""
    events: tuple[dict, ...] = ()
    """What the oracle did: time, verb, object, target, ok, message."""
    source: str = SOURCE

    @property
    def success(self) -> tuple[bool, ...]:
        """One per seed."""
        return tuple(r > SOLVED for r in self.reward)

    @property
    def solved(self) -> bool:
        """GenSim's rule: reward > 0.99 in at least half of the seeds."""
        return bool(self.reward) and 2 * sum(self.success) >= len(self.reward)


def solve(
    program: Program, project_dir: Path, sandbox: Runner, seeds: Sequence[int] = range(8)
) -> Iterator[Attempt | Solution]:
    """An Attempt per seed, in order, as many side by side as there are cores; last the Solution.

    Closing the generator stops what still runs. Raises SandboxError.
    """
    cancel, attempts = threading.Event(), []
    pool = ThreadPoolExecutor(os.cpu_count() or 1)
    try:
        running = [pool.submit(_attempt, program, project_dir, sandbox, int(seed), cancel) for seed in seeds]
        for one in running:
            attempts.append(one.result())
            yield attempts[-1]
    finally:
        cancel.set()
        pool.shutdown(cancel_futures=True)
    yield summary(attempts)


def _attempt(program: Program, project_dir: Path, sandbox: Runner, seed: int, cancel: threading.Event) -> Attempt:
    report, record = sandbox.run(program, project_dir, seeds=(seed,), checks=False, cancel=cancel)
    crash = report.crash or report.violation or ("it took too long" if report.timed_out else "")
    reward = report.reward[0] if report.reward else 0.0
    why = "" if reward > SOLVED else str(report.evidence.get("why") or crash)
    return Attempt(seed, reward, crash, why, record)


def summary(attempts: Sequence[Attempt]) -> Solution:
    """Shows the first solved seed, or else the best."""
    shown = max((a for a in attempts if a.record), key=lambda a: a.reward, default=None)
    record = shown.record if shown else None
    return Solution(
        seeds=tuple(a.seed for a in attempts),
        reward=tuple(a.reward for a in attempts),
        crashes=tuple(a.crash for a in attempts),
        why=tuple(a.why for a in attempts),
        shown=shown.seed if shown else None,
        times=record.times if record else np.zeros(0),
        qpos=record.qpos if record else np.zeros((0, 0)),
        actions=record.actions if record else np.zeros((0, 0)),
        xml=record.xml if record else "",
        events=tuple(record.events) if record else (),
    )


def write_solution(solution: Solution, project_dir: Path) -> Iterator[float]:
    """Writes solution.json, solution.npz and scene/solution.xml at once, then draws solution.mp4 where something can
    draw; yields the share of the film that is drawn. Closing it leaves a solution without a film.
    """
    folder = Path(project_dir)
    for old in ("solution.json", "solution.npz", "solution.mp4", "scene/solution.xml"):
        (folder / old).unlink(missing_ok=True)
    np.savez_compressed(folder / "solution.npz", times=solution.times, qpos=solution.qpos, actions=solution.actions)
    said = _json(solution)
    if not solution.xml:
        write_json(folder / "solution.json", said | {"video": _video(None, "no rollout came to an end")})
        return
    keep_model(solution.xml, folder, "solution")
    write_json(folder / "solution.json", said | {"video": _video(None, "the film was not drawn to its end")})
    try:
        speed = yield from film(solution, folder)
        write_json(folder / "solution.json", said | {"video": _video(speed)})
    except (SceneError, OSError) as error:
        write_json(folder / "solution.json", said | {"video": _video(None, str(error))})


def _video(speed: float | None, missing: str = "") -> dict[str, Any]:
    return {"fps": FPS, "speed": speed} | ({"missing": missing} if missing else {})


def _json(solution: Solution) -> dict:
    return {
        "solved": solution.solved,
        "success": list(solution.success),
        "reward": list(solution.reward),
        "seeds": list(solution.seeds),
        "crashes": list(solution.crashes),
        "why": list(solution.why),
        "source": solution.source,
        "shown": solution.shown,
        "events": list(solution.events),
        "model": "scene/solution.xml" if solution.xml else None,
    }


def read_solution(project_dir: Path) -> Solution | None:
    """Of a project folder; None where there is none."""
    folder = Path(project_dir)
    said, arrays, model = (
        read_json(folder / "solution.json"),
        folder / "solution.npz",
        folder / "scene" / "solution.xml",
    )
    if said is None or not arrays.is_file():
        return None
    with np.load(arrays, allow_pickle=False) as kept:
        times, qpos, actions = kept["times"], kept["qpos"], kept["actions"]
    xml = model.read_text("utf-8") if model.is_file() else ""
    lists = {key: tuple(said.get(key, ())) for key in ("seeds", "reward", "crashes", "why", "events")}
    return Solution(
        **lists, shown=said.get("shown"), source=said["source"], times=times, qpos=qpos, actions=actions, xml=xml
    )


def keep_model(xml: str, project_dir: Path, name: str) -> Path:
    """Writes a rollout's model beside the meshes it names, scene/<name>.xml. Raises SolvingError.

    It was told by the sandbox's child: it may name nothing but files beside it.
    """
    files = re.findall(r"""\bfile\w*\s*=\s*["']([^"']*)["']""", xml) + re.findall(
        r"""dir\s*=\s*["']([^"']+)["']""", xml
    )
    if "<include" in xml or "<!" in xml or "<plugin" in xml or any(Path(f).name != f or f == ".." for f in files):
        raise SolvingError("the rollout's model names files outside its scene; it is not kept. Run the program again")
    path = Path(project_dir) / "scene" / f"{name}.xml"
    path.write_text(xml, "utf-8")
    return path


def film(solution: Solution, project_dir: Path) -> Generator[float, None, float]:
    """Draws solution.mp4 as the photograph's camera sees it, yielding the share that is drawn.

    Returns how much faster than life it plays. Raises SceneError where nothing can be drawn.
    """
    times = solution.times
    count = int(np.clip(round(times[-1] * FPS), 2, FRAMES))
    chosen = np.searchsorted(times, np.linspace(0, times[-1], count)).clip(0, len(times) - 1)
    path = Path(project_dir) / "solution.mp4"
    aside = path.with_name(".solution.mp4")
    drawn = _film(Path(project_dir) / "scene" / "solution.xml", solution.qpos[chosen], aside)
    try:
        while (number := drawing(next, drawn, None)) is not None:
            yield number / count
        aside.replace(path)
    finally:
        drawing(drawn.close)
        aside.unlink(missing_ok=True)
    return max(1.0, float(times[-1]) * FPS / count)


def _film(model_xml: Path, qpos: np.ndarray, path: Path) -> Generator[int, None, None]:
    """Frame by frame; every step of it belongs in the thread that draws."""
    model = mujoco.MjModel.from_xml_path(str(model_xml))
    camera = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, "photo")
    wide, high = model.cam_resolution[camera] if camera >= 0 else (4, 3)
    height = int(WIDTH * (high / wide if wide > 1 else 0.75)) // 2 * 2
    try:
        renderer = mujoco.Renderer(model, height, WIDTH)
    except Exception as error:  # every OpenGL platform has its own way to fail
        raise SceneError(f"nothing can be drawn here ({error}); install libegl1 and set MUJOCO_GL=egl") from error
    data = mujoco.MjData(model)
    with renderer, imageio.get_writer(str(path), format="FFMPEG", fps=FPS, macro_block_size=2) as film:  # type: ignore[arg-type]
        renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False
        for number, pose in enumerate(qpos, 1):
            data.qpos[:] = pose
            mujoco.mj_kinematics(model, data)
            mujoco.mj_camlight(model, data)
            renderer.update_scene(data, camera if camera >= 0 else -1)
            film.append_data(renderer.render())
            yield number
