"""The masks of a project: automatic ones, the same with the user's decisions, and their files."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.decisions import Decision
from pipeline.project.fold import Fold
from pipeline.project.mask_decisions import Segments, apply_mask_decision, segments_by_id, visible_segments
from pipeline.segmentation import Segment
from pipeline.segmentation.mask_files import are_written, read_segments, write_segments

REMEMBERED_EDITS = 32
"""Edits whose masks are kept in memory: an undo of more of them applies all that are left again."""


class ProjectMasks:
    """The folder segments/ of a project. The caller has the project's lock."""

    def __init__(self, project_dir: Path):
        self._folder = project_dir / "segments"
        self._fold: tuple[object, Fold[Segments]] | None = None

    def automatic(self) -> tuple[Segment, ...] | None:
        """Return the masks of the segmenter before any decision; None before it ran. Raises SegmentationError."""
        folder = self._folder / "automatic"
        return read_segments(folder) if (folder / "coco.json").exists() else None

    def after(self, decisions: Sequence[Decision]) -> tuple[Segment, ...] | None:
        """Return the masks after these decisions about them; None before the segmenter ran."""
        stamp = self._stamp()
        if self._fold is None or self._fold[0] != stamp:
            automatic = self.automatic()
            if automatic is None:
                return None
            self._fold = stamp, Fold(segments_by_id(automatic), apply_mask_decision, REMEMBERED_EDITS)
        return visible_segments(self._fold[1].over(decisions))

    def save_automatic(self, segments: Sequence[Segment], shape: tuple[int, int]) -> None:
        """Write the masks of the segmenter, of an image of shape (H, W). Raises StoreError."""
        write_segments(segments, shape, self._folder / "automatic")
        self._fold = None

    def save(self, segments: Sequence[Segment], shape: tuple[int, int]) -> None:
        """Write the masks with the user's decisions, of an image of shape (H, W). Raises StoreError."""
        write_segments(segments, shape, self._folder)

    def are_saved(self, segments: Sequence[Segment], shape: tuple[int, int]) -> bool:
        """Whether the files hold these masks; a crash or a full disk may have left earlier ones."""
        return are_written(segments, shape, self._folder)

    def _stamp(self) -> object:
        """Return a value that changes when the automatic masks are replaced."""
        try:
            found = (self._folder / "automatic" / "coco.json").stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns
