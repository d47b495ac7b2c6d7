"""Follow the twin's objects through the frames of one camera.

An object at rest is only checked: does the depth at its own silhouette still fit? One that moved is registered anew,
from its last pose and from where its speed would have brought it. One that fits nowhere is lost, says so, and is looked
for among the measured points that nothing explains. Fingers, hands and arms are never modelled: they are depth in front
of what is expected.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from pipeline.frame import Frame
from pipeline.geometry import Pose
from pipeline.scene.placement import Scene
from pipeline.segmentation import Segment
from pipeline.tracking.fit import TOLERANCE_M, Evidence, Target, centre_of, evidence, fit, judge, moved_between
from pipeline.tracking.redetection import relocate
from pipeline.tracking.track import State, TrackError
from pipeline.tracking.view import Expected, ObjectModel, View, composite

GROUND_M = 0.006
"""Height above the table up to which a measured point may be the table: two steps of a stereo camera at 1 m."""
MOVED_SHARE = 0.12
"""Share of contradicting pixels, beyond what is usual for the object, from which it may have moved."""
REST_S, REST_M = 0.25, 0.004
"""An object that stays within this distance for this time is at rest."""
ACCEPTED_SCORE = 0.25
REACH_M = 0.03
"""Distance from a start within which the object's points are looked for; more of them would be the hand's."""
FREE_HAND_M = 0.06
"""Distance that an object may move unexpectedly between two frames: 0.9 m/s at 15 Hz, a brisk hand."""


@dataclass(eq=False)
class TrackedObject:
    """What is known of one object at the last frame."""

    model: ObjectModel
    pose: np.ndarray
    """world_from_object, of shape (4, 4). The last one that was seen while it is lost."""
    state: State = "still"
    at_rest: bool = True
    usual: float = 0.0
    """Share of contradicting pixels while it surely is at rest."""
    recent: list[tuple[float, np.ndarray]] = field(default_factory=list)
    """Seconds and poses since it moves, the last ones."""
    evidence: Evidence | None = None

    def predicted(self, time: float) -> np.ndarray:
        """Return the pose at a time if it keeps its speed; turning is not predicted."""
        if len(self.recent) < 2 or self.recent[-1][0] <= self.recent[-2][0]:
            return self.pose
        (t0, a), (t1, b) = self.recent[-2:]
        ahead = self.pose.copy()
        ahead[:3, 3] += (b[:3, 3] - a[:3, 3]) / (t1 - t0) * min(time - t1, 2 * (t1 - t0))
        return ahead


class Tracker:
    """The objects of a twin at the last frame that was read."""

    def __init__(self, scene: Scene, frame: Frame, segments: Iterable[Segment] = ()):
        """Begin with the frame that the twin was made of.

        Raises SceneError for a mesh that cannot be read, TrackError if the frame does not show the twin.
        """
        self.scene, self._ground = scene, None
        self.objects = [TrackedObject(ObjectModel(p), p.world_from_object.matrix) for p in scene.placements]
        self._masks: Mapping[int, np.ndarray] = {s.id: s.mask for s in segments}
        self._begin(frame)

    def _begin(self, frame: Frame) -> None:
        view = self._view(frame, None)
        renderings, expected = self._expected(view)
        n = max(1, round(frame.intrinsics.width / view.k.width))
        for number, tracked in enumerate(self.objects):
            mask = self._masks.get(tracked.model.placement.segment_id)
            shown = expected.label == number if mask is None else mask[::n, ::n]
            tracked.model.learn_colours(view, shown)
        for number, tracked in enumerate(self.objects):
            target = self._target(number, view, renderings)
            before = judge(tracked.model, tracked.pose, target)
            pose = fit(tracked.model, target, tracked.pose, 0.015, rounds=20, planar=True)
            after = judge(tracked.model, pose, target)
            if after.score > before.score:
                tracked.pose, before = pose, after
                renderings[number] = tracked.model.render(pose, view)
            tracked.usual, tracked.evidence = before.contradiction, before
        self._require_twin()

    def _require_twin(self) -> None:
        shown = [o.evidence for o in self.objects if o.evidence and o.evidence.agree + o.evidence.behind >= 15]
        if (fits := sum(one.contradiction < 0.5 for one in shown)) < (len(shown) + 1) // 2:
            raise TrackError(
                f"the first frame does not show the twin: {fits} of {len(shown)} objects are where it has them; "
                "name the frame that the twin was made of"
            )

    def step(self, frame: Frame, time: float, world_from_camera: np.ndarray | None = None) -> None:
        """Follow all objects to a frame taken at `time` seconds; the camera's pose (4, 4) is the twin's if None."""
        view = self._view(frame, world_from_camera)
        renderings, expected = self._expected(view)
        for number, tracked in enumerate(self.objects):
            if tracked.at_rest:
                self._check_rest(number, tracked, view, renderings, expected, time)
        for number, tracked in enumerate(self.objects):
            if not tracked.at_rest and tracked.state != "lost":
                self._follow(number, tracked, view, renderings, time)
        for number, tracked in enumerate(self.objects):
            if tracked.state == "lost":
                self._search(number, tracked, view, renderings, time)

    # ------------------------------------------------------------------ what is expected

    def _view(self, frame: Frame, world_from_camera: np.ndarray | None) -> View:
        pose = np.asarray(self.scene.world_from_camera if world_from_camera is None else world_from_camera, float)
        view = View.of_frame(frame, pose)
        if self._ground is None or not np.array_equal(self._ground[0], pose):
            self._ground = pose, view.ground_depth(self.scene)
        return view

    def _expected(self, view: View) -> tuple[dict[int, tuple], Expected]:
        renderings = {n: o.model.render(o.pose, view) for n, o in enumerate(self.objects) if o.state != "lost"}
        assert self._ground is not None
        return renderings, composite(renderings, self._ground[1])

    def _target(self, number: int, view: View, renderings: dict[int, tuple]) -> Target:
        """Return the measured points that one object may show."""
        assert self._ground is not None
        others = composite({n: r for n, r in renderings.items() if n != number}, self._ground[1])
        explained = (others.label >= 0) & (np.abs(view.depth - others.depth) < TOLERANCE_M)
        low = view.points[..., 2] < GROUND_M
        for shelf in self.scene.shelves:
            low |= (others.label < 0) & (np.abs(view.points[..., 2] - shelf.height) < GROUND_M)
        free = (view.depth > 0) & ~explained & ~low
        weight = self.objects[number].model.likelihood[view.colour_bin]
        return Target(view, free, weight, others.depth)

    # ------------------------------------------------------------------ one object

    def _check_rest(
        self, number: int, tracked: TrackedObject, view: View, renderings: dict[int, tuple], expected: Expected,
        time: float,
    ) -> None:  # fmt: skip
        others = np.where(expected.label == number, np.inf, expected.depth)
        area, own = renderings[number]
        found = tracked.evidence = evidence(area, own, others, view)
        if found.agree + found.front + found.behind < 15:
            tracked.state = "occluded"
            return
        # 10: pixels; fewer are ragged edges
        if found.behind > 10 and found.contradiction > tracked.usual + MOVED_SHARE:
            tracked.at_rest, tracked.recent = False, [(time, tracked.pose)]
            return
        # with less than a quarter in sight, an object could move unseen
        tracked.state = "still" if found.visible_share > 0.25 else "occluded"
        if tracked.state == "still":
            tracked.usual = min(0.9 * tracked.usual + 0.1 * found.contradiction, 0.3)

    def _follow(
        self, number: int, tracked: TrackedObject, view: View, renderings: dict[int, tuple], time: float
    ) -> None:
        target = self._target(number, view, renderings)
        predicted = tracked.predicted(time)
        stride = float(np.linalg.norm(predicted[:3, 3] - tracked.pose[:3, 3]))
        starts = [(predicted, REACH_M), (tracked.pose, REACH_M)]
        near = self._near(tracked, target, tracked.pose[:3, 3], 2 * FREE_HAND_M + stride)
        if near is not None:
            starts += [(_at(tracked.pose, near), REACH_M), (_at(tracked.pose, near), FREE_HAND_M)]
        best, found = self._best(tracked, target, [*starts, (predicted, FREE_HAND_M)])
        if not _is_accepted(found):
            tracked.state, tracked.evidence = "lost", found
            renderings.pop(number, None)
            return
        self._seen(number, tracked, best, found, view, renderings, time)

    def _best(
        self, tracked: TrackedObject, target: Target, starts: list[tuple[np.ndarray, float]]
    ) -> tuple[np.ndarray, Evidence]:
        """Return the pose that the view supports most, fitted from starts with their reach, the likeliest first."""
        best: tuple[np.ndarray, Evidence] | None = None
        for number, (start, reach) in enumerate(starts):
            pose = fit(tracked.model, target, start, reach)
            found = judge(tracked.model, pose, target)
            if best is None or found.score > best[1].score:
                best = pose, found
            # 0.85: nearly all that is expected is there; the two likeliest starts are compared if less is
            if best[1].score > 0.85 or (number and _is_good(best[1])):
                break
        assert best is not None
        return best

    def _near(self, tracked: TrackedObject, target: Target, centre: np.ndarray, reach: float) -> np.ndarray | None:
        """Return where free points of the object's colours near a point would put its centre; None without any."""
        likely = target.free & (target.weight > 0.6)
        likely &= np.linalg.norm(target.view.points - centre, axis=-1) < tracked.model.radius + reach
        return centre_of(tracked.model, target, likely) if likely.sum() > 15 else None

    def _search(
        self, number: int, tracked: TrackedObject, view: View, renderings: dict[int, tuple], time: float
    ) -> None:
        target = self._target(number, view, renderings)
        found = relocate(tracked.model, target, tracked.pose)
        if found is not None:
            tracked.recent = []
            self._seen(number, tracked, found[0], found[1], view, renderings, time)

    def _seen(
        self, number: int, tracked: TrackedObject, pose: np.ndarray, found: Evidence, view: View,
        renderings: dict[int, tuple], time: float,
    ) -> None:  # fmt: skip
        tracked.pose, tracked.state, tracked.evidence, tracked.at_rest = pose, "tracked", found, False
        renderings[number] = tracked.model.render(pose, view)
        tracked.recent = [*((t, p) for t, p in tracked.recent if time - t < 2 * REST_S), (time, pose)]
        since = [(t, p) for t, p in tracked.recent if time - t <= REST_S + 1e-6]
        points = tracked.model.surface.points[::20]
        if time - tracked.recent[0][0] >= REST_S and all(moved_between(p, pose, points) < REST_M for _, p in since):
            tracked.at_rest, tracked.state = True, "still"
            tracked.pose = _mean([p for _, p in since])
            tracked.usual = min(found.contradiction, 0.3)
            tracked.recent = []


def _mean(poses: list[np.ndarray]) -> np.ndarray:
    """Return the mean position (3,) with the rotation of the last of poses (4, 4) that are almost alike."""
    mean = poses[-1].copy()
    mean[:3, 3] = np.mean([p[:3, 3] for p in poses], axis=0)
    u, _, vt = np.linalg.svd(np.mean([p[:3, :3] for p in poses], axis=0))
    mean[:3, :3] = u @ np.diag([1, 1, np.linalg.det(u @ vt)]) @ vt
    return mean


def _at(pose: np.ndarray, position: np.ndarray) -> np.ndarray:
    return Pose.from_rotation(position, pose[:3, :3]).matrix


def _is_good(found: Evidence) -> bool:
    """Whether no other start has to be tried."""
    return found.score > 0.6 and found.contradiction < 0.15


def _is_accepted(found: Evidence) -> bool:
    return found.score > ACCEPTED_SCORE and found.agree >= 15 and found.contradiction < 0.4
