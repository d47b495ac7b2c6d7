"""Episodes of a policy on the layouts of an exported environment."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.closed_loop.policies import Policy, checked_actions
from pipeline.export.gym_env.environment import TwinEnv
from pipeline.simulation.run_record import RunRecord


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


def run_policy(env: TwinEnv, policy: Policy, layout: int, seconds: float) -> tuple[PolicyOutcome, RunRecord]:
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
    return outcome, RunRecord(np.array(times), np.array(qpos), np.array(commands), xml=xml, seed=layout)
