"""A mask as it is exchanged with other programs."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class NamedMask:
    """One object's mask in an exported or imported file."""

    id: int
    """1, 2, ... unique in a file."""
    name: str
    """The object's name; "" if the file has none."""
    mask: np.ndarray
    """Of shape (H, W), bool."""
