"""Measure planning time and penetration of the rollouts of proposed tasks, for any robot.

    python -m bench.motion PROJECT... [--robot arm arm-suction] [--first 3] [--layouts 0 1]

Projects are folders made by `grs-studio run FRAME --out DIR --until scene`. The offline planner's first program of each
of the first proposals that a dry run finds feasible is rolled out in this process. Planning is the processor's time of
each pick with its pass and place, without the steps of the physics. Penetration is read at every step of the physics,
in solved rollouts.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import mujoco
import numpy as np

from bench.arm import proposals_for, share
from pipeline.models import ModelError
from pipeline.planner import PlannerModel
from pipeline.router import write_program
from pipeline.simulation import kit, rollout
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots import ROBOTS, robot_kind
from pipeline.simulation.robots.oracle.oracle import Event
from pipeline.simulation.rollout import Run, Stages
from pipeline.simulation.sandbox.sandbox import Sandbox


@dataclass(eq=False)
class Motion:
    """What was measured while a rollout ran."""

    planning: list[float] = field(default_factory=list)
    """Seconds of the processor of each pick with what follows it up to the next one."""
    depths_mm: dict[str, float] = field(default_factory=dict)
    """Deepest contact of the robot, not of one arm with itself, in mm, by the names of both geoms."""
    stepping: float = 0.0
    """Seconds of the processor of the physics."""

    @property
    def deepest(self) -> tuple[float, str]:
        """Deepest contact in mm, and between what."""
        return max(((depth, pair) for pair, depth in self.depths_mm.items()), default=(0.0, ""))


def main() -> None:
    parser = argparse.ArgumentParser(description="Planning time and penetration of rollouts.")
    parser.add_argument("projects", type=Path, nargs="+")
    parser.add_argument("--robot", choices=tuple(ROBOTS), nargs="+", default=["arm", "arm-suction"])
    parser.add_argument("--first", type=int, default=3, help="proposals of each project (default %(default)s)")
    parser.add_argument("--layouts", type=int, nargs="+", default=[0, 1])
    arguments = parser.parse_args()
    for robot in arguments.robot:
        runs: list[tuple[str, Run, Motion]] = []
        for folder in arguments.projects:
            for name, sim in simulations(folder, robot, arguments.first, arguments.layouts):
                with watched() as motion:
                    runs.append((name, sim.rollout(), motion))
                print_run(robot, *runs[-1])
        solved = [motion for _, run, motion in runs if run.solved]
        planning = [seconds for _, _, motion in runs for seconds in motion.planning]
        depth, pair = max((motion.deepest for motion in solved), default=(0.0, ""))
        p50, p95 = np.percentile(planning or [0.0], [50, 95])
        print(
            f"{robot}: {share(len(solved), len(runs))} solved; planning of {len(planning)} picks p50 {p50:.2f} s, "
            f"p95 {p95:.2f} s; deepest contact in solved rollouts {depth:.2f} mm ({pair})"
        )


def simulations(folder: Path, robot: str, first: int, layouts: Sequence[int]) -> Iterator[tuple[str, kit.Simulation]]:
    """Yield name and simulation of each layout of the first proposals."""
    scene = replace(kit.Scene.load(folder), robot=robot_kind(robot).make(True))
    with Sandbox() as sandbox:
        tasks = proposals_for(folder, robot, sandbox)[0][:first]
    for task in tasks:
        try:
            program = write_program(task, kit.Scene.load(folder), PlannerModel())
        except ModelError:
            continue
        names: dict[str, Callable[..., kit.Simulation]] = {}
        exec(program.simulation.replace("import kit\n", ""), {"kit": kit}, names)  # written by the offline rules
        for seed in layouts:
            fresh = replace(scene, robot=robot_kind(robot).make(True))
            yield f"{folder.name} {task.name} layout {seed}", names["build"](fresh, seed)


def print_run(robot: str, name: str, run: Run, motion: Motion) -> None:
    """Print one line: how it ended, its slowest pick and its deepest contact."""
    depth, pair = motion.deepest
    slowest = max(motion.planning, default=0.0)
    ending = "solved" if run.solved else run.why
    print(f"{robot} {name}: {slowest:.2f} s, {depth:.2f} mm ({pair}), {ending}", flush=True)


@contextmanager
def watched() -> Iterator[Motion]:
    """Measure the rollouts that run meanwhile."""
    motion, step, act = Motion(), Physics.step, rollout.act

    def timed_step(physics: Physics) -> None:
        began = time.process_time()
        step(physics)
        motion.stepping += time.process_time() - began
        _note_depths(physics, motion.depths_mm)

    def timed_act(physics: Physics, stages: Stages) -> Iterator[Event]:
        before = time.process_time() - motion.stepping
        for event in act(physics, stages):
            now = time.process_time() - motion.stepping
            if event.verb == "pick" or not motion.planning:
                motion.planning.append(0.0)
            motion.planning[-1] += now - before
            yield event
            before = time.process_time() - motion.stepping

    Physics.step, rollout.act = timed_step, timed_act  # type: ignore[method-assign]
    try:
        yield motion
    finally:
        Physics.step, rollout.act = step, act  # type: ignore[method-assign]


def _note_depths(physics: Physics, depths: dict[str, float]) -> None:
    """Keep the deepest contact of each pair of geoms: robot and scene, or two arms."""
    contacts, model = physics.data.contact, physics.model
    for number in np.flatnonzero(contacts.dist < -0.0003):
        pair = contacts.geom[number]
        own = physics.label[pair] == physics.gripper
        arms = {_body(model, geom).partition("/")[0] for geom in pair}
        if own.any() and not (own.all() and len(arms) == 1):
            name = " with ".join(model.geom(geom).name or _body(model, geom) for geom in pair)
            depths[name] = max(depths.get(name, 0.0), -1000 * float(contacts.dist[number]))


def _body(model: mujoco.MjModel, geom: int) -> str:
    return model.body(int(model.geom_bodyid[geom])).name


if __name__ == "__main__":
    main()
