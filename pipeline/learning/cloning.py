"""Warm start: a policy imitates the oracle before it learns by reinforcement."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from pipeline.learning.demonstrations import Demonstrated, correct, demonstrate_subtask
from pipeline.learning.environment import SubtaskEnv
from pipeline.learning.policy import LearnedPolicy
from pipeline.learning.pushing import is_push
from pipeline.learning.start_states import StartState

EPOCHS, RATE = 400, 2e-3
"""Gradient steps on all demonstrated actions at once, and their learning rate."""
STEPS, BATCH = 1500, 512
"""Gradient steps of a round of imitation, and the actions that each sees."""
ROUNDS, PUSH_ROUNDS = 6, 12
"""Times at most that the oracle corrects the policy; a push, which every small error spoils, needs more of them."""


def clone(policy: Any, demonstrated: Sequence[Demonstrated], seed: int) -> float:
    """Fit the mean actions of a stable-baselines3 policy to the demonstrated ones; return the mean squared error."""
    torch.manual_seed(seed)
    observations, actions = _tensors(demonstrated)
    optimizer = torch.optim.Adam(policy.parameters(), lr=RATE)
    loss = torch.zeros(())
    for _ in range(EPOCHS):
        loss = _descend(policy, optimizer, observations, actions)
    return float(loss.detach())


@dataclass(frozen=True)
class Imitated:
    """State of an imitation."""

    shown: int
    """Episodes that the oracle has shown so far, corrections included."""
    is_fitted: bool
    """Whether the policy has just been fitted to all of them."""
    corrections: int
    """Rounds of corrections so far."""


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
