"""Policies: small networks of stable-baselines3, kept as policy.zip.

Only the networks' parameters are read back, as tensors. The pickled objects that stable-baselines3 also keeps in such a
file are never loaded, because a file from elsewhere could run code by them.
"""

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3.common.policies import ActorCriticPolicy

from pipeline.learning.demonstrations import Demonstrated, correct, demonstrate_subtask
from pipeline.learning.environment import SubtaskEnv
from pipeline.learning.pushing import is_push
from pipeline.learning.start_states import StartState
from pipeline.learning.subtask import LearningError

NETWORK: dict[str, Any] = {"net_arch": [64, 64], "log_std_init": -0.5}
"""Arguments of the networks: two layers of 64 units each for the actor and the critic."""
MAX_BYTES = 20_000_000
"""Largest member of a policy.zip that is read; ours take 0.2 MB."""
PARAMETERS = {"policy": "policy.pth", "policy.optimizer": "policy.optimizer.pth"}
"""Members of a policy.zip that are read, by the name of what they hold."""

EPOCHS, RATE = 400, 2e-3
"""Gradient steps on all demonstrated actions at once, and their learning rate."""
STEPS, BATCH = 1500, 512
"""Gradient steps of a round of imitation, and the actions that each sees."""
ROUNDS, PUSH_ROUNDS = 6, 12
"""Times at most that the oracle corrects the policy; a push, which every small error spoils, needs more of them."""


@dataclass(frozen=True)
class Imitated:
    """State of an imitation."""

    shown: int
    """Episodes that the oracle has shown so far, corrections included."""
    is_fitted: bool
    """Whether the policy has just been fitted to all of them."""
    corrections: int
    """Rounds of corrections so far."""


def read_parameters(path: Path) -> dict[str, Mapping[str, Any]]:
    """Return the parameters of the networks and of the optimizer in a policy.zip. Raises LearningError in one line."""
    found = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for name, member in PARAMETERS.items():
                if archive.getinfo(member).file_size > MAX_BYTES:
                    raise ValueError(f"{member} is too large")
                found[name] = torch.load(io.BytesIO(archive.read(member)), map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise LearningError(f"{path.parent.name} has no {path.name} yet; learn that subtask first") from None
    except Exception as error:  # torch and zipfile raise many kinds for damaged files
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise LearningError(
            f"{path.parent.name}/{path.name} cannot be read as a policy ({reason}); remove it and learn again"
        ) from None
    return found


class LearnedPolicy:
    """A policy that acts without exploring."""

    def __init__(self, networks: ActorCriticPolicy):
        self._networks = networks

    @staticmethod
    def read(path: Path, env: gymnasium.Env) -> "LearnedPolicy":
        """Return the policy of a policy.zip for an environment. Raises LearningError for one of other spaces."""
        parameters = read_parameters(path)["policy"]
        networks = ActorCriticPolicy(env.observation_space, env.action_space, lambda _: 0.0, **NETWORK)
        try:
            networks.load_state_dict(dict(parameters))
        except (RuntimeError, TypeError, ValueError):
            raise LearningError(
                f"{path.parent.name}/{path.name} was learned for other objects or goals; learn the subtask again"
            ) from None
        networks.set_training_mode(False)
        return LearnedPolicy(networks)

    def act(self, observation: np.ndarray, explore: bool = False) -> np.ndarray:
        """Return the action (A,) in [-1, 1] for an observation; with `explore` one drawn from its distribution."""
        action, _ = self._networks.predict(observation, deterministic=not explore)
        return np.clip(action, -1, 1)


def clone(policy: Any, demonstrated: Sequence[Demonstrated], seed: int) -> float:
    """Fit the mean actions of a stable-baselines3 policy to the demonstrated ones; return the mean squared error."""
    torch.manual_seed(seed)
    observations, actions = _tensors(demonstrated)
    optimizer = torch.optim.Adam(policy.parameters(), lr=RATE)
    loss = torch.zeros(())
    for _ in range(EPOCHS):
        loss = _descend(policy, optimizer, observations, actions)
    return float(loss.detach())


def imitate(policy: Any, env: SubtaskEnv, starts: Sequence[StartState], count: int, seed: int) -> Iterator[Imitated]:
    """Fit a stable-baselines3 policy to what the oracle shows from `count` starts, then to its corrections as well.

    Yield after each episode that is shown and after each fit, of which there is none where the oracle solves no start.
    Close it when the policy is good.
    """
    random, shown = np.random.default_rng(seed), list[Demonstrated]()
    episodes = demonstrate_subtask(env, _some(starts, count, random), random)
    for number in range(1 + (PUSH_ROUNDS if is_push(env.world.subtask) else ROUNDS)):
        for one in episodes:
            shown.append(one)
            yield Imitated(len(shown), False, number)
        if not shown:
            return
        _fit(policy, shown, seed + number)
        yield Imitated(len(shown), True, number)
        episodes = correct(env, LearnedPolicy(policy), _some(starts, count, random), random)


def _fit(policy: Any, shown: Sequence[Demonstrated], seed: int) -> None:
    """Descend on random batches, with a learning rate that falls to zero along a cosine."""
    torch.manual_seed(seed)
    observations, actions = _tensors(shown)
    optimizer = torch.optim.Adam(policy.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for _ in range(STEPS):
        batch = torch.randint(len(actions), (min(BATCH, len(actions)),))
        _descend(policy, optimizer, observations[batch], actions[batch])
        schedule.step()


def _descend(policy: Any, optimizer: Any, observations: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
    """Take one gradient step on the squared error of the mean actions, and return it."""
    loss = torch.mean((policy.get_distribution(observations).mode() - actions) ** 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def _tensors(shown: Sequence[Demonstrated]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return all observations (N, O) and actions (N, A)."""
    observations = torch.as_tensor(np.concatenate([one.observations for one in shown]))
    return observations, torch.as_tensor(np.concatenate([one.actions for one in shown]), dtype=torch.float32)


def _some(starts: Sequence[StartState], count: int, random: np.random.Generator) -> list[StartState]:
    """Return so many of the starts, in random order."""
    return [starts[index] for index in random.permutation(len(starts))[:count]]
