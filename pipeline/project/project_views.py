"""The further views of a project: photographs of the same table from elsewhere, in the folder views/."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.decisions import Decision
from pipeline.frame import (
    Frame,
    FrameError,
    FurtherView,
    Recording,
    Support,
    load,
    open_recording,
    register_depth,
    save,
)
from pipeline.project.decided_camera import depth_factor, with_camera
from pipeline.segmentation import Segment, SegmentationError, decode_rle, encode_rle
from pipeline.segmentation.segment import Carrier
from pipeline.store import digest, memoise
from pipeline.views import RegisteredView, ViewError, carry_masks, register_view

if TYPE_CHECKING:
    from pipeline.project.project import Project

MAX_VIEWS = 8
"""Further views of a project: each makes a fit as much slower as the first frame took."""


class ProjectViews:
    """The folder views/ of a project, which holds a frame folder for each view. The caller has the project's lock."""

    def __init__(self, project_dir: Path):
        self._project_dir = project_dir
        self.carrier: Carrier | None = None
        """Carries the masks beside geometry; None for geometry alone."""
        self._frames: dict[str, Frame] = {}
        self._last: tuple[tuple[str, bool], tuple[FurtherView, ...]] | None = None

    def of(
        self, chosen: Decision, camera: Sequence[Decision], original: Frame, main: Frame, support: Support,
        segments: Sequence[Segment],
    ) -> tuple[FurtherView, ...]:  # fmt: skip
        """Return the views of a decision, with the masks of `segments`. Raises ViewError.

        Args:
            chosen: the decision "views".
            camera: the decision "camera", if any, which holds for views of the same camera too.
            original: the main frame as it was read.
            main: the main frame after every decision.
            support: its table.
            segments: the masks of the main frame.
        """
        rows = chosen.data["views"]
        key = digest(
            "views", rows, main.depth, main.intrinsics.matrix, support.world_from_camera,
            [one.data for one in camera], [(one.id, one.mask) for one in segments],
        )  # fmt: skip
        if self._last is None or self._last[0] != (key, self.carrier is None):
            views = [(self._frame(row["folder"]), np.array(row["main_from_camera"], float)) for row in rows]
            for number, (frame, pose) in enumerate(views):
                if camera and frame.intrinsics == original.intrinsics:
                    pose[:3, 3] *= depth_factor(camera[0])
                    views[number] = with_camera(frame, camera), pose
            self._last = (key, self.carrier is None), self._with_masks(key, main, support, segments, views)
        return self._last[1]

    def _frame(self, name: str) -> Frame:
        if name not in self._frames:
            try:
                self._frames[name] = register_depth(load(self._project_dir / "views" / name))
            except FrameError as error:
                raise ViewError(f"a further view cannot be read ({error}); undo the choice of views") from None
        return self._frames[name]

    def _with_masks(
        self, key: str, main: Frame, support: Support, segments: Sequence[Segment],
        views: Sequence[tuple[Frame, np.ndarray]],
    ) -> tuple[FurtherView, ...]:  # fmt: skip
        def compute() -> Any:
            try:
                carried = carry_masks(main, support, segments, views, self.carrier)
            except SegmentationError as error:
                raise ViewError(f"the masks of the further views are not known: {error}") from None
            return [[[one.id, encode_rle(view.mask(one.id))] for one in segments] for view in carried]

        cache, found = self._project_dir / "cache", []
        # who has no carrier, as an export, takes what one has carried before
        by_carrier = f"{key}-carried"
        key = by_carrier if self.carrier or (cache / f"{by_carrier}.json").is_file() else key
        for (frame, pose), masks in zip(views, memoise(cache, key, compute), strict=True):
            labels = np.zeros(frame.depth.shape, int)
            for id, runs in masks:
                labels[decode_rle(runs)] = id
            found.append(FurtherView(frame, support.world_from_camera @ pose, labels))
        return tuple(found)


def read_views(path: Path, index: int, names: str) -> Iterator[tuple[str, Frame, np.ndarray | None]]:
    """Yield further views, each with its name and its pose in the main camera's axes, None if no file gives it.

    Args:
        path: the recording, or the file or folder of the main frame.
        index: the main frame in it.
        names: indices in the recording, or paths of other frames, separated by commas.

    Raises FrameError.
    """
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if len(set(wanted)) > MAX_VIEWS:
        raise FrameError(f"{len(set(wanted))} further views are too many; choose up to {MAX_VIEWS}.")
    recording = open_recording(path)
    main = None
    for name in dict.fromkeys(wanted):
        if name.isdecimal():
            number = int(name)
            yield recorded_view(recording, index, number)
        else:
            main, view = main or recording.frame(index), load(Path(name))
            ours, theirs = main.world_from_camera, view.world_from_camera
            yield name, view, None if ours is None or theirs is None else np.linalg.inv(ours) @ theirs


def recorded_view(recording: Recording, index: int, number: int) -> tuple[str, Frame, np.ndarray | None]:
    """Return the name of a frame as a further view of frame `index`, the frame, and its pose as `read_views` does.

    Raises FrameError.
    """
    if number == index:
        raise FrameError(f"Frame {number} is the main frame; choose others as views.")
    return f"frame {number}", recording.frame(number), _pose_between(recording, index, number)


def _pose_between(recording: Recording, index: int, number: int) -> np.ndarray | None:
    """Return the pose (4, 4) of one frame's camera in the axes of another's; None if the recording gives none."""
    ours, theirs = (recording.poses[at] if at < len(recording.poses) else None for at in (index, number))
    return None if ours is None or theirs is None else np.linalg.inv(ours) @ theirs


def choose_views(project: "Project", views: Sequence[tuple[str, Frame, np.ndarray | None]]) -> Iterator[str]:
    """Decide on further views, of which those that cannot be registered surely are left out; yield what became of each.

    Raises FrameError, StoreError.
    """
    rows: list[dict[str, Any]] = []
    yield from place_views(project, views, rows)
    decided = project.active_decisions("views")[-1:]
    if rows and (not decided or decided[0].data["views"] != rows):
        project.decide("views", views=rows)


def place_views(
    project: "Project", views: Iterable[tuple[str, Frame, np.ndarray | None]], rows: list[dict[str, Any]]
) -> Iterator[str]:
    """Find where each view's camera stood, save its frame and add it to `rows`, which the decision "views" takes.

    Yields what became of each. Raises FrameError, StoreError.
    """
    placed = [(project.original_frame, np.eye(4))]
    for name, frame, start in views:
        try:
            found = _register(placed, frame, start)
        except ViewError as error:
            yield f"{name} is not used: {error}"
            continue
        placed.append((frame, found.main_from_camera))
        folder = digest(frame.rgb, frame.depth)[:16]
        save(replace(frame, world_from_camera=None), project.folder / "views" / folder)
        rows.append({
            "folder": folder, "name": Path(name).name, "main_from_camera": found.main_from_camera.round(7).tolist(),
            "source": found.source, "agreement": found.agreement,
        })  # fmt: skip
        how = "pose from the file" if found.source == "file" else "registered"
        yield f"{name} is used, {how}: {found.agreement:.0%} of what both cameras saw of the objects agrees"


def _register(placed: Sequence[tuple[Frame, np.ndarray]], frame: Frame, start: np.ndarray | None) -> RegisteredView:
    """Return where a view's camera stood, by way of another view if that is not sure from the main one.

    `placed` holds frames with their main_from_camera, the main one first. Raises ViewError.
    """
    (main, _), *others = placed
    try:
        return register_view(main, frame, start)
    except ViewError as error:
        for other, main_from_other in others:
            with suppress(ViewError):
                by_way = main_from_other @ register_view(other, frame).main_from_camera
                found = register_view(main, frame, by_way)
                if found.source == "file":  # by way of the other view
                    return replace(found, source="registered")
        raise error
