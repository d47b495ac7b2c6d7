"""Dynamic time warping of two short sequences (Sakoe and Chiba, 1978)."""

import numpy as np
from scipy.spatial.distance import cdist

SLOPE_COST = 1e-6
"""Added to a step that advances one sequence only, so that equal costs give the diagonal."""


def warp_path(
    first: np.ndarray, second: np.ndarray, unknown_first: np.ndarray, unknown_second: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of both that match, from the first to the last, of shape (P,) each.

    Args:
        first, second: of shape (n, D) and (m, D). Time and memory grow with n m.
        unknown_first, unknown_second: whether a row was not recorded and matches any other, of shape (n,) and (m,).
    """
    cost = cdist(first, second, "sqeuclidean")
    cost[unknown_first], cost[:, unknown_second] = 0.0, 0.0
    rows, columns = cost.shape
    total = np.full((rows + 1, columns + 1), np.inf)
    total[0, 0] = 0.0
    for diagonal in range(rows + columns - 1):  # the cells of an antidiagonal do not depend on one another
        i = np.arange(max(0, diagonal - columns + 1), min(diagonal, rows - 1) + 1)
        j = diagonal - i
        straight, up, left = total[i, j], total[i, j + 1] + SLOPE_COST, total[i + 1, j] + SLOPE_COST
        total[i + 1, j + 1] = cost[i, j] + np.minimum(straight, np.minimum(up, left))
    i, j = rows - 1, columns - 1
    path = [(i, j)]
    while i or j:
        steps = ((total[i, j], 1, 1), (total[i, j + 1] + SLOPE_COST, 1, 0), (total[i + 1, j] + SLOPE_COST, 0, 1))
        _, down, across = min(steps)
        i, j = i - down, j - across
        path.append((i, j))
    found = np.array(path[::-1])
    return found[:, 0], found[:, 1]
