"""Files of a solution in a project folder.

solution.json has the results. solution.npz has the shown rollout (times, qpos, actions) and, with the prefix `failed_`,
the first one that failed. scene/solution.xml and scene/failure.xml are their models, beside the meshes that they name,
which stay when the twin changes.
solution.mp4 and failure.mp4 are their videos.
"""

import re
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.scene.mjcf.recorded_models import SOLUTIONS, link_or_copy, twin_digest, with_own_files
from pipeline.scene.placement import SceneError
from pipeline.simulation.robots import ROBOTS
from pipeline.simulation.robots.arm import visual_meshes
from pipeline.simulation.robots.arm.arm_robot import robot_named_in
from pipeline.simulation.run_record import RunRecord
from pipeline.solving.film import FPS, write_film
from pipeline.solving.solution import Solution, SolvingError
from pipeline.store import atomic_write, read_arrays, read_json, temporary_beside, write_json, write_text

NO_ROLLOUT = RunRecord(np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)))
SCHEMA = 1
"""Version of solution.json."""
FILES = ("solution.json", "solution.npz", "solution.mp4", "failure.mp4", "scene/solution.xml", "scene/failure.xml")


def write_solution(solution: Solution, project_dir: Path, camera: str = "") -> Iterator[float]:
    """Write the data, then render the videos if possible, from `camera` if one is named; yield the fraction rendered.

    Closing the generator early leaves a solution without a video.
    """
    folder = Path(project_dir)
    for old in FILES:
        (folder / old).unlink(missing_ok=True)
    shown, failed = solution.shown, solution.failed
    arrays = _arrays("", shown or NO_ROLLOUT) | _arrays("failed_", failed)
    with atomic_write(folder / "solution.npz") as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)
    data = _to_json(solution) | {"twin": twin_digest(folder)}
    rollouts = {name: one for name, one in (("solution", shown), ("failure", failed)) if one and one.xml}
    for name, rollout in rollouts.items():
        save_model(with_own_files(rollout.xml, folder / "scene"), folder, name)
    missing = "the video was not rendered completely" if shown and shown.xml else "no rollout finished"
    write_json(folder / "solution.json", data | {"video": _video(None, missing)})
    for number, (name, rollout) in enumerate(rollouts.items()):
        try:
            rendering = write_film(
                rollout.times, rollout.qpos, folder / "scene" / f"{name}.xml", folder / f"{name}.mp4", camera
            )
            speed = yield from _overall_progress(rendering, number, len(rollouts))
            video = _video(speed)
        except (SceneError, OSError) as error:
            video = _video(None, str(error))
        if name == "solution":
            data["video"] = video
            write_json(folder / "solution.json", data)


def _overall_progress(
    rendering: Generator[float, None, float], number: int, count: int
) -> Generator[float, None, float]:
    """Yield the fraction of all videos that is rendered; return the playback speed."""
    while True:
        try:
            yield (number + next(rendering)) / count
        except StopIteration as end:
            return end.value
        except GeneratorExit:
            rendering.close()
            raise


def _arrays(prefix: str, rollout: RunRecord | None) -> dict[str, Any]:
    if rollout is None:
        return {}
    return {f"{prefix}{name}": getattr(rollout, name) for name in ("times", "qpos", "actions")}


def _video(speed: float | None, missing: str = "") -> dict[str, Any]:
    return {"fps": FPS, "speed": speed} | ({"missing": missing} if missing else {})


def _to_json(solution: Solution) -> dict:
    return {
        "schema": SCHEMA,
        "solved": solution.solved,
        "success": list(solution.success),
        "reward": list(solution.reward),
        "seeds": list(solution.seeds),
        "crashes": list(solution.crashes),
        "why": list(solution.reasons),
        "source": solution.source,
        "failed_check": solution.failed_check,
        "shown": solution.shown and solution.shown.seed,
        "events": list(solution.shown.events if solution.shown else ()),
        "model": "scene/solution.xml" if solution.shown and solution.shown.xml else None,
        "rate": solution.rate,
        "strict_rate": solution.strict_rate,
        "failed": solution.failed
        and {"seed": solution.failed.seed, "instant": solution.failure_time, "events": list(solution.failed.events)},
    }


def read_solution(project_dir: Path) -> Solution | None:
    """Read a project's solution; None if there is none. Raises SolvingError, StoreError for damaged files."""
    folder = Path(project_dir)
    data = read_json(folder / "solution.json", SCHEMA)
    if data is None or not (folder / "solution.npz").is_file():
        return None
    try:
        return _from_json(data, folder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise SolvingError(f"the saved solution cannot be read ({reason}); solve the task again") from None


def _from_json(data: dict, folder: Path) -> Solution:
    arrays, failed, scene = read_arrays(folder / "solution.npz"), data.get("failed") or {}, folder / "scene"
    has_failed = failed and "failed_times" in arrays and (scene / "failure.xml").is_file()
    lists = {key: tuple(data.get(key, ())) for key in ("seeds", "reward", "crashes")}
    return Solution(
        **lists,
        reasons=tuple(data.get("why", ())),
        source=data["source"],
        failed_check=str(data.get("failed_check", "")),
        twin=str(data.get("twin", "")),
        shown=_record(arrays, "", scene / "solution.xml", data.get("events", ()), data.get("shown") or 0),
        failed=_record(arrays, "failed_", scene / "failure.xml", failed["events"], failed["seed"])
        if has_failed
        else None,
    )


def _record(
    arrays: dict[str, np.ndarray], prefix: str, model: Path, events: Sequence[dict], seed: int
) -> RunRecord | None:
    """Return a saved rollout; None if it has no instant. Raises KeyError for a missing array."""
    times, qpos, actions = (arrays[prefix + name] for name in ("times", "qpos", "actions"))
    xml = model.read_text("utf-8") if model.is_file() else ""
    return RunRecord(times, qpos, actions, xml=xml, events=tuple(events), seed=seed) if len(times) else None


def save_model(xml: str, project_dir: Path, name: str) -> Path:
    """Write a rollout's model to scene/<name>.xml, beside the meshes that it names. Raises SolvingError.

    The model comes from a sandbox child, so it may name only files in the same folder.
    """
    files = re.findall(r"""\bfile\w*\s*=\s*["']([^"']*)["']""", xml) + re.findall(
        r"""dir\s*=\s*["']([^"']+)["']""", xml
    )
    if "<include" in xml or "<!" in xml or "<plugin" in xml or any(Path(f).name != f or f == ".." for f in files):
        raise SolvingError(
            "the rollout's model names files outside its scene, so it was not saved; run the program again"
        )
    path = Path(project_dir) / "scene" / f"{name}.xml"
    write_text(path, xml)
    robot = ROBOTS.get(robot_named_in(xml))
    for arm in robot.arms if robot else ():
        if visual_meshes.needs_visual_meshes(xml, arm):
            visual_meshes.write_mesh_files(path.parent, arm)
            visual_meshes.add_visual_meshes(path, arm)
    return path


def keep_solution(project_dir: Path, key: str) -> None:
    """Keep the project's solution under the hash of its inputs, unless one is. Raises OSError."""
    kept = _folder(project_dir, key)
    if kept.is_dir() or not (project_dir / FILES[0]).is_file():
        return
    kept.parent.mkdir(exist_ok=True)
    with temporary_beside(kept) as temporary:
        temporary.mkdir()
        for name in FILES:
            if (project_dir / name).is_file():
                link_or_copy(project_dir / name, temporary / Path(name).name)
        temporary.rename(kept)


def take_up_solution(project_dir: Path, key: str) -> bool:
    """Put a kept solution in the place of the present one; return whether there is one. Raises OSError.

    solution.json comes last: without it a project that was killed meanwhile has no solution, and takes it up again.
    """
    kept = _folder(project_dir, key)
    if not kept.is_dir():
        return False
    _remove_solution(project_dir)
    for name in reversed(FILES):
        if (kept / Path(name).name).is_file():
            link_or_copy(kept / Path(name).name, project_dir / name)
    return True


def _remove_solution(project_dir: Path) -> None:
    """Remove the present solution; those that are kept stay."""
    for name in FILES:
        (project_dir / name).unlink(missing_ok=True)


def _folder(project_dir: Path, key: str) -> Path:
    return project_dir / SOLUTIONS / key[:24]
