"""Full integration states at which episodes begin: settled layouts, or the end states of the former subtask."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.errors import reason_of
from pipeline.learning.subtask import LearningError
from pipeline.store import read_arrays, write_arrays


@dataclass(frozen=True, eq=False)
class StartState:
    """One state from which a simulation goes on exactly."""

    layout: int
    """Seed of its layout."""
    state: np.ndarray
    """mjSTATE_INTEGRATION, of shape (S,)."""
    holding: int = -1
    """Index of the weld by which the hand holds something; -1 for none."""
    grasp: np.ndarray | None = None
    """Relative pose of that weld, eq_data of shape (E,); None for none."""
    variant: int = 0
    """Number of the variant of the twin that it is a state of; 0 for the twin itself."""


def write_states(path: Path, states: Sequence[StartState]) -> None:
    """Write an .npz with layouts (N,), states (N, S), holding (N,), grasps (N, E) and variants (N,).

    Raises StoreError.
    """
    width = max((len(one.grasp) for one in states if one.grasp is not None), default=0)
    grasps = [np.zeros(width) if one.grasp is None else one.grasp for one in states]
    numbers = {"layouts": "layout", "holding": "holding", "variants": "variant"}
    arrays = {name: np.array([getattr(one, field) for one in states], int) for name, field in numbers.items()}
    write_arrays(path, arrays | {"states": np.array([one.state for one in states]), "grasps": np.array(grasps)})


def read_states(path: Path) -> tuple[StartState, ...]:
    """Inverse of `write_states`. Raises LearningError in one line."""
    try:
        arrays = read_arrays(path)
        columns = [arrays[name] for name in ("layouts", "states", "holding", "grasps")]
        variants = arrays.get("variants", np.zeros(len(columns[0]), int))
        found = tuple(
            StartState(int(layout), state, int(holding), grasp if holding >= 0 else None, int(variant))
            for layout, state, holding, grasp, variant in zip(*columns, variants, strict=True)
        )
    except FileNotFoundError:
        raise LearningError(f"{path.parent.name} has no end states yet; learn that subtask first") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LearningError(
            f"{path.parent.name}/{path.name} is damaged ({reason_of(error)}); learn that subtask again"
        ) from None
    return found
