"""What a file or folder holds: one frame or many, each read only when asked for."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from pipeline.frame.frame import Frame, FrameError


@dataclass(frozen=True, eq=False)
class Recording:
    """Frames to pick one from."""

    kind: str
    """The format, in words a person knows."""
    names: tuple[str, ...]
    """What tells the frames apart, one each, in order."""
    read: Callable[[int], Frame]
    """Reads one frame by its place in `names`. Raises FrameError."""
    times: tuple[float, ...] = ()
    """Seconds since the first frame, one each; empty where the format does not say."""

    def __len__(self) -> int:
        return len(self.names)

    def frame(self, index: int = 0) -> Frame:
        """The frame at that place, counted from 0. Raises FrameError."""
        if not 0 <= index < len(self):
            raise FrameError(
                f"There is no frame {index}; this {self.kind} holds {len(self)}, from 0 to {len(self) - 1}."
            )
        frame = self.read(index)
        if len(self) == 1:
            return frame
        told = f"Frame {index} of {len(self)} ({self.names[index]}) of the {self.kind} was taken."
        return replace(frame, notes=(told, *frame.notes))
