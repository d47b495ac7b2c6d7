"""Policies: small networks of stable-baselines3, kept as policy.zip.

Only the networks' parameters are read back, as tensors. The pickled objects that stable-baselines3 also keeps in such a
file are never loaded, because a file from elsewhere could run code by them.
"""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3.common.policies import ActorCriticPolicy

from pipeline.learning.subtask import LearningError

NETWORK: dict[str, Any] = {"net_arch": [64, 64], "log_std_init": -0.5}
"""Arguments of the networks: two layers of 64 units each for the actor and the critic."""
MAX_BYTES = 20_000_000
"""Largest member of a policy.zip that is read; ours take 0.2 MB."""
PARAMETERS = {"policy": "policy.pth", "policy.optimizer": "policy.optimizer.pth"}
"""Members of a policy.zip that are read, by the name of what they hold."""


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
