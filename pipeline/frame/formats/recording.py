"""The frames of a file or folder, each read on demand."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from pipeline.frame.frame import Frame, FrameError, find_fault

Poses = tuple[np.ndarray | None, ...]
"""Camera-to-world transforms of shape (4, 4), metres, OpenCV's camera axes; None for a frame whose pose is unknown."""


@dataclass(frozen=True, eq=False)
class Recording:
    """One frame or many of the same source."""

    kind: str
    """The format, as readable text."""
    names: tuple[str, ...]
    """A label for each frame, in order."""
    read: Callable[[int], Frame]
    """Reads one frame by its index in `names`. Raises FrameError."""
    times: tuple[float, ...] = ()
    """Seconds since the first frame, one for each; empty if the format does not give them."""
    poses: Poses = ()
    """Pose of each frame's camera in one world of any axes, none of them need be up; empty if the format gives none."""
    colours: Callable[[int], Iterator[np.ndarray]] | None = None
    """Yields colour (H, W, 3), uint8, of every n-th frame without its depth; None if `read` is as fast. Raises
    FrameError."""

    def __len__(self) -> int:
        return len(self.names)

    def frame(self, index: int = 0) -> Frame:
        """Read the frame at an index, from 0. Raises FrameError."""
        if not 0 <= index < len(self):
            raise FrameError(
                f"There is no frame {index}; this {self.kind} holds {len(self)}, from 0 to {len(self) - 1}."
            )
        frame = self.read(index)
        if fault := find_fault(frame):
            raise FrameError(f"The reader of the {self.kind} made no frame of {self.names[index]}: {fault}.")
        if len(self) == 1:
            return frame
        note = f"Frame {index} of {len(self)} ({self.names[index]}) of the {self.kind} was taken."
        return replace(frame, notes=(note, *frame.notes))

    def previews(self, every: int = 1) -> Iterator[np.ndarray]:
        """Yield colour (H, W, 3), uint8, of every n-th frame, in order. Raises FrameError."""
        if self.colours is not None:
            return self.colours(every)
        return (self.read(index).rgb for index in range(0, len(self), every))
