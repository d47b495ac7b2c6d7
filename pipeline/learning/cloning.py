"""Warm start: a policy imitates demonstrations before it learns by reinforcement (behaviour cloning)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from pipeline.learning.demonstrations import Demonstrated

EPOCHS, RATE = 400, 2e-3
"""Gradient steps on all demonstrated actions at once, and their learning rate."""


def clone(policy: Any, demonstrated: Sequence[Demonstrated], seed: int) -> float:
    """Fit the mean actions of a stable-baselines3 policy to the demonstrated ones; return the mean squared error."""
    torch.manual_seed(seed)
    observations = torch.as_tensor(np.concatenate([one.observations for one in demonstrated]))
    actions = torch.as_tensor(np.concatenate([one.actions for one in demonstrated]), dtype=torch.float32)
    optimizer = torch.optim.Adam(policy.parameters(), lr=RATE)
    loss = torch.zeros(())
    for _ in range(EPOCHS):
        loss = torch.mean((policy.get_distribution(observations).mode() - actions) ** 2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return float(loss.detach())
