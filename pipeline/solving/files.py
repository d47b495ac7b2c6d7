"""A solution as files of a project.

solution.json says how it went. solution.npz holds the shown rollout (times, qpos, actions) and, under names beginning
with `failed_`, the first that failed; scene/solution.xml and scene/failure.xml are the models they ran in, beside the
meshes they name, so that they load alone. solution.mp4 and failure.mp4 show them.
"""

import re
import zipfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.scene.placement import SceneError
from pipeline.simulation.arm import looks
from pipeline.solving.film import FPS, film
from pipeline.solving.solution import Rollout, Solution, SolvingError
from pipeline.store import read_json, write_json

FILES = ("solution.json", "solution.npz", "solution.mp4", "failure.mp4", "scene/solution.xml", "scene/failure.xml")


def write_solution(solution: Solution, project_dir: Path) -> Iterator[float]:
    """Writes all that is data at once, then draws the films where something can draw; yields the share that is drawn.

    Closing it leaves a solution without a film.
    """
    folder = Path(project_dir)
    for old in FILES:
        (folder / old).unlink(missing_ok=True)
    shown, failed = _shown(solution), solution.failed
    arrays = _arrays("", shown) | _arrays("failed_", failed)
    np.savez_compressed(folder / "solution.npz", **arrays)
    said = _json(solution)
    films = {name: one for name, one in (("solution", shown), ("failure", failed)) if one and one.xml}
    for name, one in films.items():
        keep_model(one.xml, folder, name)
    missing = "the film was not drawn to its end" if shown.xml else "no rollout came to an end"
    write_json(folder / "solution.json", said | {"video": _video(None, missing)})
    for number, (name, one) in enumerate(films.items()):
        try:
            drawing = film(one.times, one.qpos, folder / "scene" / f"{name}.xml", folder / f"{name}.mp4")
            speed = yield from _shares(drawing, number, len(films))
            video = _video(speed)
        except (SceneError, OSError) as error:
            video = _video(None, str(error))
        if name == "solution":
            said["video"] = video
            write_json(folder / "solution.json", said)


def _shares(drawing: Generator[float, None, float], number: int, count: int) -> Generator[float, None, float]:
    """The share of all films that is drawn."""
    while True:
        try:
            yield (number + next(drawing)) / count
        except StopIteration as end:
            return end.value
        except GeneratorExit:
            drawing.close()
            raise


def _shown(solution: Solution) -> Rollout:
    return Rollout(solution.shown or 0, solution.times, solution.qpos, solution.actions, solution.xml, solution.events)


def _arrays(prefix: str, one: Rollout | None) -> dict[str, Any]:
    return {f"{prefix}{name}": getattr(one, name) for name in ("times", "qpos", "actions")} if one else {}


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
        "rate": solution.rate,
        "strict_rate": solution.strict_rate,
        "failed": solution.failed and {
            "seed": solution.failed.seed, "instant": solution.instant, "events": list(solution.failed.events)
        },
    }  # fmt: skip


def read_solution(project_dir: Path) -> Solution | None:
    """Of a project folder; None where there is none. Raises SolvingError, StoreError for what is damaged."""
    folder = Path(project_dir)
    said = read_json(folder / "solution.json")
    if said is None or not (folder / "solution.npz").is_file():
        return None
    try:
        return _solution(said, folder)
    except (OSError, EOFError, zipfile.BadZipFile, ValueError, KeyError, TypeError, AttributeError) as error:
        told = f"{type(error).__name__}: {error}".splitlines()[0]
        raise SolvingError(f"the solution that was kept cannot be read ({told}); solve the task again") from None


def _solution(said: dict, folder: Path) -> Solution:
    model = folder / "scene" / "solution.xml"
    with np.load(folder / "solution.npz", allow_pickle=False) as kept:
        times, qpos, actions = kept["times"], kept["qpos"], kept["actions"]
        failed = _failed(said.get("failed"), dict(kept), folder / "scene" / "failure.xml")
    xml = model.read_text("utf-8") if model.is_file() else ""
    lists = {key: tuple(said.get(key, ())) for key in ("seeds", "reward", "crashes", "why", "events")}
    return Solution(
        **lists, shown=said.get("shown"), source=said["source"], times=times, qpos=qpos, actions=actions, xml=xml,
        failed=failed,
    )  # fmt: skip


def _failed(said: dict | None, kept: dict[str, np.ndarray], model: Path) -> Rollout | None:
    if not said or "failed_times" not in kept or not model.is_file():
        return None
    arrays = {name: kept[f"failed_{name}"] for name in ("times", "qpos", "actions")}
    return Rollout(seed=said["seed"], xml=model.read_text("utf-8"), events=tuple(said["events"]), **arrays)


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
    if looks.worn_by(xml):
        looks.lay_out(path.parent)
        looks.dress(path)
    return path
