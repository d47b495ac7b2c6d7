"""Closed loop: a policy controls the twin's robot; success and divergence are measured as for the oracle.

`episodes` and `conditions` need gymnasium; `learned` needs stable-baselines3, too.
"""

from pipeline.closed_loop.policies import LEARNED, open_policy
from pipeline.closed_loop.policy import Policy, PolicyError

__all__ = ["LEARNED", "Policy", "PolicyError", "open_policy"]
