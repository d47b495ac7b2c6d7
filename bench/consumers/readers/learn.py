"""PPO on an exported Gymnasium environment, by stable-baselines3 and by a loop like CleanRL's ppo_continuous_action.py.

`learn.py FOLDER` prints {"steps", "episodes", "versions"} of stable-baselines3's run, and {"loop_episodes", "loss"}.
"""

import json
import sys
from importlib.metadata import version

import gymnasium
import numpy as np
import torch
from gymnasium.wrappers import (
    ClipAction,
    FlattenObservation,
    NormalizeObservation,
    NormalizeReward,
    RecordEpisodeStatistics,
)
from stable_baselines3 import PPO
from stable_baselines3.common.monitor import Monitor
from torch.distributions import Normal

STEPS, ENVIRONMENTS, ROLLOUT, UPDATES = 20_000, 2, 256, 4
DISCOUNT, SMOOTHING, CLIP = 0.99, 0.95, 0.2
"""CleanRL's own."""


def stable_baselines(make) -> dict:
    """Learn for 20,000 steps."""
    env = Monitor(make())
    model = PPO("MultiInputPolicy", env, n_steps=1024, batch_size=256, seed=0, device="cpu").learn(STEPS)
    return {"steps": model.num_timesteps, "episodes": len(env.get_episode_rewards())}


def wrapped():
    env = ClipAction(RecordEpisodeStatistics(FlattenObservation(gymnasium.make("GRS/Twin-v0"))))
    return NormalizeReward(NormalizeObservation(env), gamma=DISCOUNT)


def network(inputs: int, outputs: int) -> torch.nn.Sequential:
    return torch.nn.Sequential(torch.nn.Linear(inputs, 64), torch.nn.Tanh(), torch.nn.Linear(64, outputs))


def collected(envs, state: dict, actor, critic, spread) -> tuple[list[torch.Tensor], int]:
    """Return observations, actions, their log probabilities, values and advantages of a rollout, and its episodes."""
    rows, rewards, ends, episodes = [], [], [state["ended"]], 0
    with torch.no_grad():
        for _ in range(ROLLOUT):
            seen = torch.tensor(state["seen"], dtype=torch.float32)
            chosen = Normal(actor(seen), spread.exp())
            action = chosen.sample()
            rows.append([seen, action, chosen.log_prob(action).sum(1), critic(seen).flatten()])
            state["seen"], reward, terminated, truncated, info = envs.step(action.numpy())
            state["ended"] = torch.tensor(np.logical_or(terminated, truncated), dtype=torch.float32)
            rewards.append(torch.tensor(reward, dtype=torch.float32))
            ends.append(state["ended"])
            episodes += int(info["_episode"].sum()) if "_episode" in info else 0
        values = [row[3] for row in rows] + [critic(torch.tensor(state["seen"], dtype=torch.float32)).flatten()]
    advantages, last = [], torch.zeros(ENVIRONMENTS)
    for step in reversed(range(ROLLOUT)):
        on = 1 - ends[step + 1]
        error = rewards[step] + DISCOUNT * values[step + 1] * on - values[step]
        last = error + DISCOUNT * SMOOTHING * on * last
        advantages.insert(0, last)
    return [torch.cat(column) for column in (*zip(*rows, strict=True), advantages)], episodes


def cleanrl_loop() -> dict:
    """Learn for 2,048 steps in two environments that step in turn."""
    torch.manual_seed(1)
    envs = gymnasium.vector.SyncVectorEnv([wrapped] * ENVIRONMENTS)
    inputs, outputs = (int(np.prod(one.shape)) for one in (envs.single_observation_space, envs.single_action_space))
    actor, critic = network(inputs, outputs), network(inputs, 1)
    spread = torch.nn.Parameter(torch.zeros(1, outputs))
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters(), spread], lr=3e-4)
    state, episodes, loss = {"seen": envs.reset(seed=1)[0], "ended": torch.zeros(ENVIRONMENTS)}, 0, torch.tensor(0.0)
    for _ in range(UPDATES):
        (seen, actions, before, values, advantages), more = collected(envs, state, actor, critic, spread)
        episodes += more
        returns, advantages = advantages + values, (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        for _ in range(UPDATES):
            ratio = (Normal(actor(seen), spread.exp()).log_prob(actions).sum(1) - before).exp()
            policy = torch.max(-advantages * ratio, -advantages * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
            loss = policy + 0.5 * ((critic(seen).flatten() - returns) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return {"loop_episodes": episodes, "loss": loss.item()}


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    import grs_env

    torch.set_num_threads(1)
    names = {name: version(name) for name in ("stable-baselines3", "gymnasium")}
    print("\n" + json.dumps({"versions": names} | stable_baselines(grs_env.make) | cleanrl_loop()))
