"""Measure how many drawers and doors the arms open and shut.

    python -m bench.parts [--pack FOLDER] [--robot arm] [--out FILE.json]

FOLDER holds one asset with parts in each subfolder, as a LIBERO pack does. Without it the drawn cabinet and oven of
tests/cabinet.py are measured. Each stands alone at several places and yaws; each part is opened once and shut once.
What the arm refuses as out of reach is counted apart. A part counts as opened from 60 % of its travel, as shut up to
10 %.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cabinet
import drawn_scene as make
from scipy.stats import binomtest

from pipeline.assets import Library
from pipeline.scene.scene_files import write_scene
from pipeline.scene.settle import settle
from pipeline.simulation import kit
from pipeline.simulation.robots import ROBOTS, robot_kind
from pipeline.store import write_json

PLACES = ((0.0, 0.1, 0.0), (-0.2, 0.15, 0.4), (0.2, 0.1, -0.4), (0.1, -0.1, 0.8))
"""World x and y in metres and yaw in radians."""
OUT_OF_REACH = "out of reach"


def main() -> None:
    parser = argparse.ArgumentParser(description="Drawers and doors opened and shut by an arm.")
    parser.add_argument("--pack", type=Path, help="folder with one asset in each subfolder")
    parser.add_argument("--robot", choices=tuple(ROBOTS), default="arm")
    parser.add_argument("--out", type=Path, help="JSON file that keeps the results")
    arguments = parser.parse_args()
    results: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as temporary:
        projects = pack_projects(arguments.pack, Path(temporary)) if arguments.pack else drawn_project(Path(temporary))
        for project, name in projects:
            for key, outcome in measured(project, name, arguments.robot):
                results[key] = outcome
                print(f"{key:60} {outcome or 'done'}", flush=True)
    if arguments.out:
        write_json(arguments.out, results)
    reached = [outcome for outcome in results.values() if OUT_OF_REACH not in outcome]
    done = sum(not outcome for outcome in reached)
    low, high = binomtest(done, max(len(reached), 1)).proportion_ci(method="wilson")
    share = f"{done / max(len(reached), 1):.0%}; {low:.0%} to {high:.0%}"
    print(f"{done} of {len(reached)} within reach ({share}), {len(results) - len(reached)} not")
    for reason, count in Counter(outcome.partition(": ")[2][:70] for outcome in reached if outcome).most_common(6):
        print(f"  {count:4} {reason}")


def drawn_project(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the project with the drawn cabinet and oven, for the name of each."""
    project = cabinet.write(folder / "drawn")
    yield from ((project, name) for name in ("cabinet", "oven"))


def pack_projects(pack: Path, folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield a project with one object for each asset of a pack that has parts."""
    for source in sorted(path for path in pack.iterdir() if path.is_dir()):
        for asset in Library.open([source], cache=folder / "cache"):
            if not asset.joints:
                continue
            placed = make.placement(
                asset.mesh, "thing", size=asset.size, model=asset.model, joints=asset.joints, mass=asset.mass,
                collision=asset.collision, asset_id=asset.id, category=asset.category,
            )  # fmt: skip
            write_scene(settle(make.scene(placed))[0], folder / asset.id.replace("/", "_"))
            yield folder / asset.id.replace("/", "_"), "thing"


def measured(project: Path, name: str, robot: str) -> Iterator[tuple[str, str]]:
    """Yield for each place, part and task its name, and why it failed; empty if it was done."""
    scene = kit.Scene.load(project)
    for x, y, yaw in PLACES:
        for part in scene[name].parts:
            for verb in ("open", "shut"):
                sim = kit.Simulation(replace(scene, robot=robot_kind(robot).make(True)), 0)
                sim.keep(name)
                sim.move(name, (x, y), yaw=yaw)
                if verb == "shut":
                    sim.set_open(name, part.name, 0.9)
                sim.goal((kit.opened if verb == "open" else kit.closed)(name, part.name))
                run = sim.rollout()
                yield f"{project.name}: {verb} {part.name} of {name} at {x}, {y}, yaw {yaw}", run.why


if __name__ == "__main__":
    main()
