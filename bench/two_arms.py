"""Measure how often two arms hand a cube over: pick, pass, place.

    python -m bench.two_arms PROJECT [--robot aloha trossen] [--count 30] [--among 3]

PROJECT is a folder made by `grs-studio run FRAME --out DIR --until scene`, with a cube. In each layout the cube
stands where one arm alone reaches it and goes to where the other alone does, among some of the other objects, at places
drawn from the number of the layout. Layouts without such places are drawn again. bench.motion says how planning and
penetration are measured.
"""

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.arm import share
from bench.motion import watched
from pipeline.simulation import free_space, kit
from pipeline.simulation.robots import robot_kind
from pipeline.simulation.robots.description import RobotDescription
from pipeline.simulation.robots.pair.pair_mount import place_pair

TRIES = 40
"""Draws of the other objects until there are places for the cube."""
BEYOND_M = 0.01
"""How far beyond the farthest place of an arm a place has to be for that arm not to reach it."""


@dataclass(frozen=True)
class Passed:
    """One layout."""

    solved: bool
    handed_over: str
    """"pass" in the air, "hand over" on the table; "" where one arm did it alone."""
    why: str
    planning: tuple[float, ...]
    """Seconds of the processor of each pick and place."""
    penetration_mm: float
    """Deepest contact of the robot with anything but the same arm, in a step of the physics."""
    deepest: str
    """Names of the two geoms."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Cubes handed over by two arms.")
    parser.add_argument("project", type=Path)
    parser.add_argument("--robot", nargs="+", default=["aloha", "trossen"])
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--among", type=int, default=3, help="other objects on the table (default %(default)s)")
    arguments = parser.parse_args()
    scene = kit.Scene.load(arguments.project)
    cube = next(o.name for o in scene.objects if o.category == "cube" or o.shape == "cube")
    for name in arguments.robot:
        passed = []
        for seed in range(1, arguments.count + 1):
            one = measure(arranged(scene, robot_kind(name), cube, arguments.among, seed))
            passed.append(one)
            ending = "solved" if one.solved else one.why
            print(f"{name:10} layout {seed:2}: {ending}, {one.penetration_mm:.2f} mm ({one.deepest})", flush=True)
        planning = [seconds for one in passed for seconds in one.planning]
        solved = [one for one in passed if one.solved]
        print(
            f"{name}: {share(len(solved), len(passed))} solved, "
            f"{_count(solved, 'pass')} passed in the air, {_count(solved, 'hand over')} on the table; "
            f"planning of a pick and place p50 {np.median(planning):.2f} s, p95 {np.percentile(planning, 95):.2f} s; "
            f"penetration in solved rollouts {max((one.penetration_mm for one in solved), default=0):.2f} mm at most"
        )


def arranged(scene: kit.Scene, robot: RobotDescription, cube: str, among: int, seed: int) -> kit.Simulation:
    """Return the layout of a number: the cube within reach of one arm alone, its goal within reach of the other."""
    assert robot.pair is not None
    rng = np.random.default_rng(seed)
    mount = place_pair(scene.objects, scene.table, scene.away, robot.pair)
    others = [o.name for o in scene.objects if o.name != cube and not o.fixed]
    for number in range(TRIES):
        sim = kit.Simulation(replace(scene, robot=robot.make(True)), 1000 * seed + number)
        sim.scatter()
        sim.keep(cube, *rng.permutation(others)[:among])
        sim.scatter(*(o.name for o in sim.objects))
        points = free_space.grid(scene.table, 0.02)
        points = points[free_space.inside_region(points, sim[cube], scene.table, 0.02)]
        points = points[free_space.fits(points, sim[cube], [o for o in sim.objects if o.name != cube], 0.04)]
        distances = np.linalg.norm(points[:, None] - mount.bases, axis=-1)
        near, far = mount.rings.T
        beyond = np.array([arm.reach.places[1] for arm in robot.pair]) + BEYOND_M
        of_one = [
            points[(distances[:, a] > near[a]) & (distances[:, a] < far[a]) & (distances[:, 1 - a] > beyond[1 - a])]
            for a in (0, 1)
        ]
        if all(len(places) for places in of_one):
            start, end = (places[rng.integers(len(places))] for places in of_one[:: 1 if seed % 2 else -1])
            sim.move(cube, start)
            sim.goal(kit.at(cube, end))
            return sim
    raise SystemExit(f"in {TRIES} draws there was no place that one arm alone reaches; take a larger table")


def measure(sim: kit.Simulation) -> Passed:
    """Roll a layout out."""
    with watched() as motion:
        run = sim.rollout()
    verbs = [event.verb for event in run.events if event.ok]
    handed_over = next((verb for verb in ("hand over", "pass") if verb in verbs), "")
    return Passed(run.solved, handed_over, run.why, tuple(motion.planning), *motion.deepest)


def _count(passed: list[Passed], how: str) -> int:
    return sum(one.handed_over == how for one in passed)


if __name__ == "__main__":
    main()
