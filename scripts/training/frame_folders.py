"""Reads the FOLDER=SHARE arguments of the training scripts and draws frames by them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

Loaded = TypeVar("Loaded")


@dataclass(frozen=True)
class FrameFolder:
    """A folder of rendered frames, and how often examples come from it."""

    path: Path
    share: float | None = None
    """Relative to the other folders' shares; None for its number of frames."""

    @classmethod
    def parse(cls, text: str) -> "FrameFolder":
        """Return the folder of an argument FOLDER or FOLDER=SHARE. Raises ValueError if the share is no number."""
        path, equals, share = text.rpartition("=")
        return cls(Path(path), float(share)) if equals else cls(Path(text))

    def frames(self) -> list[Path]:
        """Return the folders of its labelled frames, sorted."""
        written = {path.parents[1] for path in self.path.glob("*/truth/masks.png")}
        return sorted(written | {path.parent for path in self.path.glob("*/expected.json")})


@dataclass(frozen=True, eq=False)
class WeightedFrames(Generic[Loaded]):
    """Loaded frames, each drawn with the probability that its folder's share gives."""

    frames: Sequence[Loaded]
    probabilities: np.ndarray
    """Of each frame, summing to 1."""

    @classmethod
    def load(
        cls, folders: Sequence[FrameFolder], read: Callable[[Path, int], Loaded | None]
    ) -> "WeightedFrames[Loaded]":
        """Read all frames by path and number; `read` returns None for a frame to leave out."""
        frames, weights, number = [], [], 0
        for folder in folders:
            own = []
            for path in folder.frames():
                own.append(read(path, number))
                number += 1
            own = [one for one in own if one is not None]
            frames += own
            weights += [1.0 if folder.share is None else folder.share / len(own)] * len(own)
        if not frames:
            raise ValueError("no labelled frames in " + ", ".join(str(one.path) for one in folders))
        return cls(frames, np.array(weights) / np.sum(weights))

    def draw(self, random: np.random.Generator) -> Loaded:
        """Return a random frame."""
        return self.frames[int(random.choice(len(self.frames), p=self.probabilities))]
