"""The measures of "A Real2Sim Digital Twin Pipeline", section III-F, in the order in which the paper gives them.

The paper does not number its equations; F1 to F6 number those of section III-F from the top: F1 MSE_norm, F2 RMSE_norm,
F3 MSE_overall, F4 T(q), F5 T_i(q_i), F6 p and R. F4 to F6 are in denavit_hartenberg.py and robot_kinematics.py.
"""

from collections.abc import Sequence

import numpy as np


def mse_norm(sim: np.ndarray, real: np.ndarray, ranges: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the normalised mean square error of one arm over time (F1), of shape (T,), without unit.

    MSE_norm(t) = sum_i w_i (q_i_sim(t) - q_i_real(t))^2 / (range_i)^2 + w_g (g_sim(t) - g_real(t))^2 / (range_g)^2

    Args:
        sim, real: joint positions and last the gripper, of shape (T, n); radians, or metres for slides.
        ranges: normalisation factors of shape (n,), in the units of the columns.
        weights: of shape (n,); they sum to 1 for a mean.
    """
    return np.square((sim - real) / ranges) @ weights


def rmse_norm(mse: np.ndarray) -> np.ndarray:
    """Return the root of a mean square error over time (F2): RMSE_norm(t) = sqrt(MSE_norm(t))."""
    return np.sqrt(mse)


def mse_overall(arms: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean of the arms' MSE_norm over time (F3), of shape (T,); half of left plus right for two arms."""
    return np.mean(np.asarray(arms), axis=0)


def equal_weights(count: int) -> np.ndarray:
    """Return the weight 1/n for each of n joints and grippers, of shape (n,)."""
    return np.full(count, 1 / count)


def position_error(sim: np.ndarray, real: np.ndarray) -> np.ndarray:
    """Return the distance of end-effector positions p (F6) of shape (T, 3) over time, of shape (T,), in metres."""
    return np.linalg.norm(sim - real, axis=-1)


def rotation_error(sim: np.ndarray, real: np.ndarray) -> np.ndarray:
    """Return the angle of R_real^T R_sim (F6) over time, of shape (T,), in radians from 0 to pi.

    The matrices have shape (T, 3, 3). The arc tangent keeps small angles exact, where an arc cosine loses half of the
    digits.
    """
    between = np.swapaxes(real, -1, -2) @ sim
    skew = np.stack(
        (between[..., 2, 1] - between[..., 1, 2], between[..., 0, 2] - between[..., 2, 0],
         between[..., 1, 0] - between[..., 0, 1]), axis=-1,
    )  # fmt: skip
    return np.arctan2(np.linalg.norm(skew, axis=-1), np.trace(between, axis1=-2, axis2=-1) - 1)
