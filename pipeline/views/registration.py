"""Find where the camera of a further view stood, from its file or from the table scene, and doubt what is not sure.

Both frames show the same table, so that only x, y and the turn about the vertical are unknown. Height maps are
compared at every turn by correlation, the best places are refined by point-to-plane ICP (Chen and Medioni 1992), and
each is judged by what both cameras measured: the same surfaces in the same colours, and nothing where the other camera
saw through.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation

from pipeline.errors import StudioError
from pipeline.frame import Frame, SupportError, find_support
from pipeline.frame.once_per_frame import once_per_frame
from pipeline.geometry import rotation_about_z, transform
from pipeline.views.consistency import compare

CELL_M, CELLS = 0.01, 192
"""Side of a height map's cells, and how many it has along each side."""
TURNS = 72
"""Turns about the vertical that are tried: objects 10 cm from the middle move by a cell from one to the next."""
BANDS_M = ((0.01, 0.04), (0.04, 0.09), (0.09, 0.6))
"""Heights above the table of what a map keeps apart."""
PLACES = 6
"""Places that are refined."""
VOXEL_M = 0.005
MAX_LEAN = np.radians(60)
MIN_HEIGHT_M = 0.008
"""Height above the table from which a point belongs to an object: noise of depth reaches as far."""
MAX_COLOUR_DIFFERENCE = 25.0
"""Distance in CIELAB from which two pixels show different surfaces: light and exposure change less."""


class ViewError(StudioError):
    """A further view that cannot be used, with the reason."""


@dataclass(frozen=True, eq=False)
class RegisteredView:
    """Where the camera of a further view stood."""

    main_from_camera: np.ndarray
    """Of shape (4, 4), metres."""
    source: str
    """ "file" or "registered"."""
    agreement: float
    """Share of the objects' points seen by both cameras that agree in place and colour, in [0, 1]."""


@dataclass(frozen=True, eq=False)
class _Place:
    """A place of the view, judged."""

    pose: np.ndarray
    """Our world from theirs, of shape (4, 4)."""
    agreement: float
    support: float
    """Share of the objects' points that agree less twice the share of those that do not."""


@dataclass(frozen=True, eq=False)
class _Cloud:
    """Points of a frame above and on its table."""

    points: np.ndarray
    """In the table's world, of shape (N, 3), in metres."""
    normals: np.ndarray
    """Towards the camera, of shape (N, 3)."""
    lab: np.ndarray
    """CIELAB, of shape (N, 3)."""
    is_object: np.ndarray
    """Whether a point is above the table, of shape (N,), bool."""
    world_from_camera: np.ndarray


MIN_AGREEMENT, MIN_SUPPORT = 0.7, 0.05
"""Least agreement and support of a view that is used."""
MAX_RIVAL = 0.6
"""Support of any other place, over that of the best, from which it is not sure which of them is right."""


def register_view(main: Frame, view: Frame, start: np.ndarray | None = None) -> RegisteredView:
    """Return where a view's camera stood.

    Args:
        main: the frame in whose camera axes the pose is.
        view: another frame of the same table.
        start: main_from_camera (4, 4) as a file gives it, which is refined; None to find it.

    Raises ViewError if a table or objects are missing, if the views do not agree, or if they agree at two places.
    """
    ours, theirs = _cloud(main, "the main frame"), _cloud(view, "the view")
    if start is not None:
        moved = ours.world_from_camera @ start @ np.linalg.inv(theirs.world_from_camera)
        found = _judged(ours, theirs, main, view, [moved])[0]
        if _is_good(found):
            return _registered(found, ours, theirs, "file")
    ranked = _judged(ours, theirs, main, view, _places(ours, theirs))
    best, others = ranked[0], [one for one in ranked[1:] if _differs(one.pose, ranked[0].pose)]
    if not _is_good(best):
        raise ViewError(
            f"only {best.agreement:.0%} of what both cameras saw of the objects agrees at the best place found; choose "
            "a view nearer to the main one, of the same objects at rest"
        )
    if others and others[0].support > MAX_RIVAL * best.support:
        raise ViewError(
            f"it fits at two places, with {best.agreement:.0%} and {others[0].agreement:.0%} agreement; choose a view "
            "nearer to the main one, or give the cameras' poses"
        )
    return _registered(best, ours, theirs, "registered")


def _is_good(place: _Place) -> bool:
    return place.agreement >= MIN_AGREEMENT and place.support >= MIN_SUPPORT


def _registered(found: _Place, ours: _Cloud, theirs: _Cloud, source: str) -> RegisteredView:
    pose = np.linalg.inv(ours.world_from_camera) @ found.pose @ theirs.world_from_camera
    return RegisteredView(pose, source, round(found.agreement, 4))


def _differs(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two planar poses are further apart than ICP leaves them: 2 cm or 5 degrees."""
    gap = np.linalg.inv(a) @ b
    return bool(np.linalg.norm(gap[:2, 3]) > 0.02 or abs(np.arctan2(gap[1, 0], gap[0, 0])) > np.radians(5))


# ---------------------------------------------------------------------- the clouds


def _cloud(frame: Frame, name: str) -> _Cloud:
    try:
        cloud = _points_over_table(frame)
    except SupportError as error:
        raise ViewError(f"in {name} {str(error)[:1].lower()}{str(error)[1:]}") from None
    # Points of objects at 5 mm: fewer are one small object, which looks alike from many sides
    if cloud.is_object.sum() < 150:
        raise ViewError(f"{name} shows too little above its table to be compared")
    return cloud


@once_per_frame
def _points_over_table(frame: Frame) -> _Cloud:
    import open3d  # takes a second to import

    support = find_support(frame)
    known = frame.depth > 0
    points = transform(support.world_from_camera, frame.points[known].astype(float))
    lab = cv2.cvtColor(cv2.GaussianBlur(frame.rgb, (5, 5), 0).astype(np.float32) / 255, cv2.COLOR_RGB2LAB)[known]
    low, high = support.polygon.min(0) - 0.05, support.polygon.max(0) + 0.05
    near = ((points[:, :2] > low) & (points[:, :2] < high)).all(1) & (points[:, 2] > -0.02) & (points[:, 2] < 0.6)
    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points[near]))
    cloud.colors = open3d.utility.Vector3dVector(lab[near] / 100)
    cloud = cloud.voxel_down_sample(VOXEL_M)
    cloud.estimate_normals(open3d.geometry.KDTreeSearchParamHybrid(4 * VOXEL_M, 30))
    cloud.orient_normals_towards_camera_location(support.world_from_camera[:3, 3])
    points = np.asarray(cloud.points)
    return _Cloud(
        points,
        np.asarray(cloud.normals),
        100 * np.asarray(cloud.colors),
        points[:, 2] > MIN_HEIGHT_M,
        support.world_from_camera,
    )


# ---------------------------------------------------------------------- places by height maps


def _places(ours: _Cloud, theirs: _Cloud) -> Iterator[np.ndarray]:
    """Yield the places (4, 4), our world from theirs, at which the height maps agree best, the best first."""
    a_middle, b_middle = (np.median(one.points[one.is_object, :2], axis=0) for one in (ours, theirs))
    fixed = np.fft.rfft2(_height_map(ours, np.eye(2), a_middle))
    peaks = []
    for turn in np.arange(TURNS) * 2 * np.pi / TURNS:
        rotation = rotation_about_z(turn)[:2, :2]
        moving = np.fft.rfft2(_height_map(theirs, rotation, b_middle))
        # Occupied cells agree by band; one that is occupied here and seen empty there counts against
        alike = (fixed[:3] * moving[:3].conj()).sum(0)
        against = fixed[:3].sum(0) * moving[3].conj() + fixed[3] * moving[:3].sum(0).conj()
        score = np.fft.irfft2(alike - against / 2, s=(CELLS, CELLS))
        at = np.unravel_index(score.argmax(), score.shape)
        shift = (np.array(at[::-1]) + CELLS // 2) % CELLS - CELLS // 2
        place = np.eye(4)
        place[:2, :2] = rotation
        place[:2, 3] = a_middle + CELL_M * shift - rotation @ b_middle
        peaks.append((float(score[at]), place))
    peaks.sort(key=lambda peak: -peak[0])
    kept: list[np.ndarray] = []
    for _, place in peaks:
        if not any(np.abs(place - other).max() < 0.15 for other in kept):  # the neighbouring turn of another peak
            kept.append(place)
    yield from kept[:PLACES]


def _height_map(cloud: _Cloud, rotation: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """Return which cells hold objects of each band, and which are seen empty, of shape (4, CELLS, CELLS), float."""
    cells = np.rint((cloud.points[:, :2] - middle) @ rotation.T / CELL_M).astype(int) + CELLS // 2
    top = np.full((CELLS, CELLS), -1.0)
    inside = ((cells >= 0) & (cells < CELLS)).all(1)
    np.maximum.at(top, (cells[inside, 1], cells[inside, 0]), cloud.points[inside, 2])
    maps = [(top > low) & (top <= high) for low, high in BANDS_M]
    empty = (top > -1) & (top < MIN_HEIGHT_M)
    return np.array([*maps, empty], float)


# ---------------------------------------------------------------------- refined, and judged


def _judged(
    ours: _Cloud, theirs: _Cloud, main: Frame, view: Frame, places: Sequence[np.ndarray] | Iterator[np.ndarray]
) -> list[_Place]:
    """Return the places refined, the best first."""
    tree = KDTree(ours.points)
    refined = [_icp(ours, tree, theirs, place) for place in places]
    return sorted((_judge(ours, theirs, main, view, one) for one in refined), key=lambda place: -place.support)


def _icp(ours: _Cloud, tree: KDTree, theirs: _Cloud, place: np.ndarray) -> np.ndarray:
    """Return a place (4, 4), our world from theirs, refined by point-to-plane ICP in six degrees of freedom.

    Pairs have like normals and like colours, so that the two sides of a thin object are not taken for one another.
    """
    # Half of the pairs are of objects: the table holds height and tilt only
    rng = np.random.default_rng(0)
    objects, table = np.flatnonzero(theirs.is_object), np.flatnonzero(~theirs.is_object)
    some = np.concatenate([rng.permutation(objects)[:3000], rng.permutation(table)[: min(3000, len(objects))]])
    points, normals, lab = theirs.points[some], theirs.normals[some], theirs.lab[some]
    for reach in np.geomspace(0.025, 0.005, 16):
        moved = transform(place, points)
        distance, nearest = map(np.asarray, tree.query(moved, distance_upper_bound=reach))
        pairs = np.flatnonzero(np.isfinite(distance))
        normal = ours.normals[nearest[pairs]]
        alike = ((normals[pairs] @ place[:3, :3].T) * normal).sum(1) > 0.7
        alike &= np.linalg.norm(lab[pairs] - ours.lab[nearest[pairs]], axis=1) < MAX_COLOUR_DIFFERENCE
        pairs, normal = pairs[alike], normal[alike]
        if len(pairs) < 50:
            return place
        gap = ((ours.points[nearest[pairs]] - moved[pairs]) * normal).sum(1)
        middle = moved[pairs].mean(0)
        rows = np.hstack([np.cross(moved[pairs] - middle, normal), normal])
        weight = 1 / (1 + (gap / (reach / 3)) ** 2)
        step = np.linalg.solve(rows.T @ (rows * weight[:, None]) + 1e-6 * np.eye(6), rows.T @ (weight * gap))
        turn = np.eye(4)
        turn[:3, :3] = Rotation.from_rotvec(step[:3]).as_matrix()
        turn[:3, 3] = middle + step[3:] - turn[:3, :3] @ middle
        place = turn @ place
    return place


def _judge(ours: _Cloud, theirs: _Cloud, main: Frame, view: Frame, place: np.ndarray) -> _Place:
    """Return a place with the smaller agreement and support of the two directions."""
    agreement, support = [], []
    for cloud, frame, camera_from_points in (
        (theirs, main, np.linalg.inv(ours.world_from_camera) @ place),
        (ours, view, np.linalg.inv(place @ theirs.world_from_camera)),
    ):
        seen = compare(cloud.points[cloud.is_object], frame, camera_from_points)
        other = _lab(frame)[seen.pixels[:, 1], seen.pixels[:, 0]]
        alike = np.linalg.norm(other - cloud.lab[cloud.is_object], axis=1) < MAX_COLOUR_DIFFERENCE
        same, against = (seen.same & alike).sum(), seen.seen_through.sum() + (seen.same & ~alike).sum()
        agreement.append(same / max(same + against, 1))
        support.append((same - 2 * against) / cloud.is_object.sum())
    return _Place(place, float(min(agreement)), float(min(support)))


@once_per_frame
def _lab(frame: Frame) -> np.ndarray:
    """Return the colours in CIELAB, of shape (H, W, 3), float32, blurred as those of the clouds."""
    return cv2.cvtColor(cv2.GaussianBlur(frame.rgb, (5, 5), 0).astype(np.float32) / 255, cv2.COLOR_RGB2LAB)
