"""A policy over HTTP or as a function: on the layouts of an environment, and under the conditions of a study."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pipeline.closed_loop.policies import Policy, checked_actions, open_policy
from pipeline.export.gym_env.environment import TwinEnv
from pipeline.export.gym_env.package import write_layout
from pipeline.simulation.kit import Scene, Simulation
from pipeline.simulation.physics import Physics, UnstableError
from pipeline.simulation.program import Program
from pipeline.simulation.recipe import Recipe, replay
from pipeline.simulation.robots import robot_kind
from pipeline.simulation.sandbox.sandbox import Sandbox
from pipeline.solving import Rollout
from pipeline.store import write_json
from pipeline.variation import Outcome, Perform

SEED = 0
"""Of the layout: objects stand where the condition has them."""


@dataclass(frozen=True)
class PolicyOutcome:
    """How an episode of a policy ended."""

    layout: int
    """Seed of the layout."""
    success: bool
    share: float
    """Of the goals met at the end, in [0, 1]."""
    reward: float
    """Largest reward on the way, in [0, 1]."""
    seconds: float
    """Simulated time until the success, or of the whole episode."""
    rmse: float | None = None
    """RMSE_norm overall (mean over time) against the real episode of this layout, if there is one."""


def run_policy(env: TwinEnv, policy: Policy, layout: int, seconds: float) -> tuple[PolicyOutcome, Rollout]:
    """Let a policy control the robot until the task is solved, for so many simulated seconds at most.

    With the render mode "rgb_array" the policy sees the picture, too. Raises PolicyError.
    """
    observation, info = env.reset(options={"layout": layout})
    policy.begin(layout, env.instruction)
    data, count = env.world.data, env.action_count
    began, best = float(data.time), 0.0
    times, qpos, commands = [0.0], [data.qpos.copy()], [data.ctrl.copy()]
    left = np.empty((0, count))
    while times[-1] < seconds and not info["success"]:
        if not len(left):
            picture = env.render()
            seen = observation if picture is None else observation | {"image": picture}
            left = checked_actions(policy.act(seen, times[-1]), count)
        observation, reward, _, _, info = env.step(left[0])
        left, best = left[1:], max(best, float(reward))
        times.append(float(data.time) - began)
        qpos.append(data.qpos.copy())
        commands.append(data.ctrl.copy())
    outcome = PolicyOutcome(layout, bool(info["success"]), float(info["share"]), best, times[-1])
    xml = (Path(env.folder) / "scene" / f"layout_{layout:03d}.xml").read_text(encoding="utf-8")
    return outcome, Rollout(layout, np.array(times), np.array(qpos), np.array(commands), xml)


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
