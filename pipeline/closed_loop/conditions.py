"""A policy under the conditions of a variation study."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pipeline.closed_loop.episode_workers import EpisodeJob
from pipeline.closed_loop.episodes import PolicyEpisode
from pipeline.closed_loop.policies import DEMONSTRATION
from pipeline.export.gym_env.package import demonstrate, write_layout
from pipeline.export.gym_env.twin_world import TwinWorld
from pipeline.simulation.cameras import zoom
from pipeline.simulation.kit import Scene, Simulation
from pipeline.simulation.physics import Physics
from pipeline.simulation.program import Program
from pipeline.simulation.recipe import Recipe, replay
from pipeline.simulation.robots import robot_kind
from pipeline.simulation.run_record import RunRecord
from pipeline.simulation.sandbox.sandbox import Sandbox
from pipeline.solving import Attempt, solve
from pipeline.store import read_json, write_json
from pipeline.variation import Outcome, Perform
from pipeline.variation.varied_scene import PICTURE_FILE

Play = Callable[[EpisodeJob], PolicyEpisode]
SEED = 0
"""Of the layout: objects stand where the condition has them."""


@dataclass(frozen=True)
class PolicyTrials:
    """Which policy controls which robot, and for how long."""

    policy: str
    """As `open_policy` takes it; "demonstration" replays what the oracle does under the same condition."""
    robot: str = "gripper"
    """Name of the robot that it controls."""
    seconds: float = 30.0
    """Simulated, of a trial."""
    images: bool = False
    """Whether the policy also gets the pictures of the cameras."""


def try_policy(
    trials: PolicyTrials, project_dir: Path, program: Program, sandbox: Sandbox, id: str, start: Path,
    play: Play = EpisodeJob.run,
) -> PolicyEpisode:  # fmt: skip
    """Let a policy try the condition of an id, whose start is in a folder. Raises PolicyError, SandboxError.

    `play` runs the episode, in this process or in a worker.
    """
    if fault := arrange_start(trials.robot, program, sandbox, start):
        return PolicyEpisode(id, False, 0.0, 0.0, None, fault)
    shutil.copyfile(project_dir / "task.json", start / "task.json")
    if trials.policy == DEMONSTRATION and (why := _write_demonstration(trials.robot, program, sandbox, start)):
        return PolicyEpisode(id, False, 0.0, 0.0, None, why)
    return play(EpisodeJob(start, trials.policy, SEED, trials.seconds, trials.images, id))


def by_policy(trials: PolicyTrials, project_dir: Path, program: Program, sandbox: Sandbox) -> Perform:
    """Return a function that lets a policy try a condition; it raises PolicyError and SandboxError."""

    def perform(id: str, start: Path) -> Outcome:
        done = try_policy(trials, project_dir, program, sandbox, id, start)
        return Outcome(id, done.success, done.share, done.reason, done.rollout)

    return perform


def arrange_start(robot: str, program: Program, sandbox: Sandbox, start: Path) -> str:
    """Let a program arrange a start, and write its layout; return why that failed, or an empty text."""
    recipes, fault = sandbox.arrange(program, start, [SEED])
    if not fault:
        write_environment(start, recipes[0], robot)
    return fault


def write_environment(start: Path, recipe: Recipe, robot: str) -> None:
    """Write the layout of a start beside its scene, as `TwinEnv` reads it, with the robot at its home."""
    scene = replace(Scene.load(start), robot=robot_kind(robot).make(True))
    simulation = Simulation(scene, SEED)
    replay(simulation, recipe)
    world = simulation.bench()
    data = Physics(world).data
    (start / "layouts").mkdir()
    write_layout(simulation, world.xml, data.qpos, data.ctrl, start)
    picture = read_json(start / PICTURE_FILE) or {}
    zoom(start / "scene" / f"layout_{SEED:03d}.xml", picture.get("field_of_view", 1.0))
    write_json(start / "layouts.json", {"seeds": [SEED], "robot": robot, "picture": picture})


def _write_demonstration(robot: str, program: Program, sandbox: Sandbox, start: Path) -> str:
    """Write the oracle's actions beside the layout of a start; return why there are none, or an empty text."""
    attempt = next(one for one in solve(program, start, sandbox, (SEED,), robot))
    assert isinstance(attempt, Attempt)
    if not isinstance(attempt.record, RunRecord):
        return attempt.reason
    actions, _ = demonstrate(TwinWorld(start, SEED), attempt.record)
    np.save(start / "layouts" / f"{SEED:03d}.npy", actions)
    return ""
