"""The frames of a recording that a twin is followed through, seen by the twin's camera."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace

import numpy as np

from pipeline.frame import Frame, Recording
from pipeline.project import Project
from pipeline.tracking.following import Shot, follow
from pipeline.tracking.track import Track, TrackError


@dataclass(frozen=True, eq=False)
class RecordedFrames:
    """Frames of a recording, by their numbers in it."""

    project: Project
    recording: Recording
    numbers: tuple[int, ...]
    """Rising; the project's twin was made of the first."""
    left_out: int = 0
    """Frames in between whose camera's pose is not known."""
    rate: float = 30.0
    """Frames a second of a recording without times."""

    @staticmethod
    def between(
        project: Project, recording: Recording, first: int = 0, last: int | None = None, rate: float = 30.0
    ) -> "RecordedFrames":
        """Return the frames `first` to `last`, or to the end. Raises TrackError."""
        last = len(recording) - 1 if last is None else last
        if not 0 <= first < last < len(recording):
            raise TrackError(
                f"this {recording.kind} holds frames 0 to {len(recording) - 1}; a track needs two of them or more"
            )
        if not 0 < rate <= 1000:
            raise TrackError("--rate takes frames a second, such as 30")
        asked = range(first, last + 1)
        numbers = [number for number in asked if not recording.poses or recording.poses[number] is not None]
        if first not in numbers:
            raise TrackError(f"where the camera of frame {first} was is not known; name another by --first")
        return RecordedFrames(project, recording, tuple(numbers), len(asked) - len(numbers), rate)

    def frame(self, number: int) -> Frame:
        """Read a frame with the project's camera. Raises TrackError for a frame of another size, FrameError."""
        frame, k = self.recording.frame(number), self.project.frame.intrinsics
        if (frame.intrinsics.width, frame.intrinsics.height) != (k.width, k.height):
            raise TrackError(
                f"frame {number} has {frame.intrinsics.width} x {frame.intrinsics.height} pixels, the project's has "
                f"{k.width} x {k.height}; make the project of a frame of this recording"
            )
        return replace(frame, intrinsics=k)

    def follow(self) -> Generator[int, None, Track]:
        """Yield the number of frames done; return the track of the twin's objects. Raises TrackError, FrameError."""
        scene = self.project.scene()
        if scene is None:
            raise TrackError(f"{self.project.folder.name} has no twin yet; build it: grs-studio run ... --until scene")
        track = yield from follow(
            scene, self._shots(np.asarray(scene.world_from_camera)), self.project.segments() or ()
        )
        return replace(track, numbers=self.numbers)

    def _shots(self, world_from_first: np.ndarray) -> Iterator[Shot]:
        first: np.ndarray | None = None
        for number in self.numbers:
            frame, pose = self.frame(number), None
            time = self.recording.times[number] if self.recording.times else number / self.rate
            camera = self.recording.poses[number] if self.recording.poses else frame.world_from_camera
            if camera is not None:
                first = camera if first is None else first
                pose = world_from_first @ np.linalg.inv(first) @ camera
            yield time, frame, pose
