"""Measure how many flat objects the 2F-85 takes over the table's edge, carries and lays down.

    python -m bench.flat [--kept-aside] [--count 30] [--first 0] [--out FILE.json]

Each case is one flat object on a table of 70 x 55 cm, drawn from its number: a book, box or round board of 12 to 22 by
10 to 18 by 1 to 3 cm, friction 0.3 to 0.9 on the table, any yaw, 3 to 25 cm from the nearest edge, with up to two cubes
beside it, and a place on the table to which it is to be carried. In every other case the photograph ends 10 cm before
the table's edge. Even numbers were looked at during development; --kept-aside takes the odd ones. A case counts where
the first run meets the goal. Refusals are counted apart.
"""

import argparse
import json
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import tabletop
from scipy.stats import binomtest

from pipeline.geometry import planar_rotation
from pipeline.simulation import kit
from pipeline.simulation.objects import Region, hull
from pipeline.simulation.robots import robot_kind
from pipeline.store import write_json

HALF = np.array([0.35, 0.275])
"""Half extents of the table in metres."""
UNSEEN_M = 0.1
"""Width of the table's rim that the photograph does not show, in every other case."""


@dataclass(frozen=True, eq=False)
class Case:
    """One flat object on a table, in the table's axes."""

    size: tuple[float, float, float]
    shape: str
    xy: np.ndarray
    yaw: float
    to: np.ndarray
    friction: float
    mass: float
    unseen: float
    cubes: tuple[tuple[float, float], ...]

    @property
    def edge(self) -> float:
        """Distance of its outline from the nearest edge, in metres."""
        return float(Region(_corners(HALF)).depth(self.xy, _outline(self.size, self.shape, self.yaw)))


def draw(number: int) -> Case:
    """Return the case with that number."""
    rng = np.random.default_rng(1000 + number)
    shape = ("box", "box", "cylinder")[number // 2 % 3]
    length, width, height = rng.uniform(0.12, 0.22), rng.uniform(0.10, 0.18), rng.uniform(0.01, 0.03)
    length, width = max(length, width), min(length, width)
    size = (length, width, height) if shape == "box" else (length, length, height)
    mass = float(np.prod(size) * rng.uniform(300, 800))
    unseen = UNSEEN_M * (number // 2 % 2)
    while True:
        yaw = float(rng.uniform(-np.pi, np.pi))
        xy, to = rng.uniform(-HALF, HALF), rng.uniform(-HALF, HALF)
        case = Case(size, shape, xy, yaw, to, float(rng.uniform(0.3, 0.9)), mass, unseen, ())
        visible = Region(_corners(HALF - unseen))
        fits = visible.depth(to, _outline(size, shape, yaw)) > 0.005
        if fits and 0.03 <= case.edge <= 0.25 and np.linalg.norm(to - xy) > 0.08:
            break
    cubes: list[tuple[float, float]] = []
    reach = float(np.hypot(length, width)) / 2 + 0.05
    for point in rng.uniform(-HALF + 0.04, HALF - 0.04, (int(rng.integers(0, 3)) * 10, 2)):
        others = [xy, to]
        beside = all(np.linalg.norm(point - cube) > 0.1 for cube in cubes)
        if all(np.linalg.norm(point - o) > reach for o in others) and len(cubes) < 2 and beside:
            cubes.append((float(point[0]), float(point[1])))
    return replace(case, cubes=tuple(cubes))


def write(case: Case, folder: Path) -> None:
    """Write a case as a project folder."""
    objects = {"blue_book": ("book", case.shape, "blue", case.size, tuple(case.xy), case.mass)}
    for i, xy in enumerate(case.cubes):
        objects[f"cube_{i}"] = ("cube", "cube", "red", (0.05, 0.05, 0.05), xy, 0.1)
    tabletop.write(folder, objects=objects)
    scene = json.loads((folder / "scene.json").read_text())
    scene["table"] = _corners(HALF - case.unseen).tolist()
    (folder / "scene.json").write_text(json.dumps(scene))
    file = folder / "scene" / "scene.xml"
    friction = f'friction="{case.friction} 0.005 0.001"'
    xml = file.read_text().replace('friction="0.8 0.005 0.001"', friction)
    xml = xml.replace('size="0.6 0.6 0.02"', f'size="{HALF[0]} {HALF[1]} 0.02" {friction}')
    xml = xml.replace("<worldbody>", '<worldbody><geom name="floor" type="plane" size="4 4 0.1" pos="0 0 -0.75"/>')
    xml = xml.replace("<option ", '<option cone="elliptic" impratio="10" ')
    file.write_text(xml)


def measure(case: Case) -> str:
    """Return why the first run does not meet the goal; empty where it does."""
    with tempfile.TemporaryDirectory() as temporary:
        write(case, Path(temporary))
        sim = kit.Simulation(replace(kit.Scene.load(temporary), robot=robot_kind("arm").make(True)))
        sim.move("blue_book", case.xy, yaw=case.yaw)
        sim.goal(kit.at("blue_book", tuple(case.to)))
        run = sim.rollout()
    return "" if run.solved else "; ".join(run.why) if not isinstance(run.why, str) else run.why


def _corners(half: np.ndarray) -> np.ndarray:
    return half * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])


def _outline(size: tuple[float, float, float], shape: str, yaw: float) -> np.ndarray:
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    round_ = np.stack([np.cos(angle), np.sin(angle)], -1) * size[0] / 2
    corners = round_ if shape == "cylinder" else _corners(np.array(size[:2]) / 2)
    return hull(corners @ planar_rotation(yaw).T)


def main() -> None:
    parser = argparse.ArgumentParser(description="Flat objects taken over the table's edge.")
    parser.add_argument("--kept-aside", action="store_true", help="the cases that were not looked at")
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--out", type=Path, help="JSON file that keeps the results")
    arguments = parser.parse_args()
    results: dict[str, str] = {}
    for i in range(arguments.first, arguments.first + arguments.count):
        number = 2 * i + arguments.kept_aside
        case = draw(number)
        outcome = measure(case)
        results[str(number)] = outcome
        print(
            f"{number:3} {case.shape:8} {np.round(np.array(case.size) * 100, 1)} cm, {case.edge * 100:4.1f} cm from "
            f"the edge, friction {case.friction:.2f}: {outcome or 'done'}",
            flush=True,
        )
    if arguments.out:
        write_json(arguments.out, results)
    done = sum(not outcome for outcome in results.values())
    low, high = binomtest(done, len(results)).proportion_ci(method="wilson")
    print(f"{done} of {len(results)} ({done / len(results):.0%}; {low:.0%} to {high:.0%})")
    for reason, count in Counter(outcome for outcome in results.values() if outcome).most_common(8):
        print(f"  {count:4} {reason[:110]}")


if __name__ == "__main__":
    main()
