"""A policy over HTTP or as a function under the conditions of a variation study."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.closed_loop.episodes import run_policy
from pipeline.closed_loop.policies import open_policy
from pipeline.export.gym_env.environment import TwinEnv
from pipeline.export.gym_env.package import write_layout
from pipeline.simulation.kit import Scene, Simulation
from pipeline.simulation.physics import Physics, UnstableError
from pipeline.simulation.program import Program
from pipeline.simulation.recipe import Recipe, replay
from pipeline.simulation.robots import robot_kind
from pipeline.simulation.sandbox.sandbox import Sandbox
from pipeline.store import write_json
from pipeline.variation import Outcome, Perform

SEED = 0
"""Of the layout: objects stand where the condition has them."""


@dataclass(frozen=True)
class PolicyTrials:
    """Which policy controls which robot, and for how long."""

    policy: str
    """As `open_policy` takes it."""
    robot: str = "gripper"
    """Name of the robot that it controls."""
    seconds: float = 30.0
    """Simulated, of a trial."""
    images: bool = False
    """Whether the policy also gets the picture of the photograph's camera."""


def by_policy(trials: PolicyTrials, project_dir: Path, program: Program, sandbox: Sandbox) -> Perform:
    """Return a function that lets a policy try a condition; it raises PolicyError and SandboxError."""

    def perform(id: str, start: Path) -> Outcome:
        recipes, fault = sandbox.arrange(program, start, [SEED])
        if fault:
            return Outcome(id, False, 0.0, fault)
        write_environment(start, recipes[0], trials.robot)
        shutil.copyfile(project_dir / "task.json", start / "task.json")
        env = TwinEnv(render_mode="rgb_array" if trials.images else None, folder=start)
        try:
            policy = open_policy(trials.policy, env)
            outcome, rollout = run_policy(env, policy, SEED, trials.seconds)
        except UnstableError as error:  # the policy pressed too hard: its failure, not the machinery's
            return Outcome(id, False, 0.0, str(error))
        finally:
            env.close()
        reason = "" if outcome.success else f"{outcome.share:.0%} of the goals met after {outcome.seconds:.0f} s"
        return Outcome(id, outcome.success, outcome.share, reason, rollout)

    return perform


def write_environment(start: Path, recipe: Recipe, robot: str) -> None:
    """Write the layout of a start beside its scene, as `TwinEnv` reads it, with the robot at its home."""
    scene = replace(Scene.load(start), robot=robot_kind(robot).make(True))
    simulation = Simulation(scene, SEED)
    replay(simulation, recipe)
    world = simulation.bench()
    data = Physics(world).data
    (start / "layouts").mkdir()
    write_layout(simulation, world.xml, data.qpos, data.ctrl, start)
    write_json(start / "layouts.json", {"seeds": [SEED], "robot": robot})
