"""SAM 2's automatic masks, cleaned by depth: what is no thing goes, what is one thing comes together."""

from dataclasses import dataclass

import cv2
import numpy as np

from pipeline.frame import Frame, Support, SupportError, find_support, register
from pipeline.geometry import transform
from pipeline.segmentation.segment import Segment

LEAST, MOST = 0.0004, 0.25
"""A thing's share of the picture: less is a speck, more is a table or a wall."""
BELOW, TALLEST, WIDEST, HANGING = -0.02, 0.5, 0.6, 0.12
"""Metres: what lies below is floor; what is taller or wider is furniture or a robot; what hangs higher is held."""
CLOSE = 0.05
"""Metres from a thing's lower edge to what carries it."""
FLAT = 0.012
"""Metres of height within which a face counts as level."""
WORKING_WIDTH = 640


@dataclass(frozen=True, eq=False)
class Seen:
    """What depth knows of the picture, at working size (h, w)."""

    points: np.ndarray
    """World points in metres, of shape (h, w, 3), float32, NaN where depth is unknown."""
    lab: np.ndarray
    """CIELAB colours, of shape (h, w, 3), float32, 8-bit range."""
    table: np.ndarray
    """Pixels that show the table's top, of shape (h, w), bool."""
    step: int
    """Pixels of the frame to one of these."""

    @staticmethod
    def of(frame: Frame, support: Support | None = None) -> "Seen | None":
        """None where no table is found: then nothing can be said by depth."""
        frame = register(frame)
        try:
            support = support or find_support(frame)
        except SupportError:
            return None
        step = max(1, round(frame.depth.shape[1] / WORKING_WIDTH))
        points = transform(support.world_from_camera.astype(np.float32), frame.points[::step, ::step])
        rgb = np.ascontiguousarray(frame.rgb[::step, ::step])
        lab = cv2.cvtColor(rgb, cv2.COLOR_RGB2LAB).astype(np.float32)
        return Seen(points, lab, support.inliers[::step, ::step], step)


def cleaned(
    frame: Frame, found: list[tuple[np.ndarray, float]], keep_all: bool = False, support: Support | None = None
) -> tuple[Segment, ...]:
    """Masks (H, W) with scores as segments from left to right, ids 1, 2, ...; they do not overlap.

    Table, floor, wall and robot go. With `keep_all` a part takes its pixels from the whole and both stay; without it
    parts of one thing are joined, and a mask of several things gives way to the masks of each.
    """
    seen = Seen.of(frame, support)
    found = [(mask.astype(bool), score) for mask, score in found if LEAST < mask.mean() < MOST]
    if seen is not None:
        found = carried(seen, [(mask, score) for mask, score in found if is_thing(seen, _small(seen, mask))])
    found.sort(key=lambda entry: -entry[1])
    found = _unlike(found)
    if keep_all or seen is None:
        found.sort(key=lambda entry: int(entry[0].sum()))
    else:
        found = joined(seen, nested(seen, found))
    kept = _apart(found)
    kept.sort(key=lambda entry: float(np.flatnonzero(entry[0].any(0)).mean()))
    return tuple(Segment(i, mask, float(np.clip(score, 0, 1)), "sam2") for i, (mask, score) in enumerate(kept, 1))


def is_thing(seen: Seen, mask: np.ndarray) -> bool:
    """Whether a mask (h, w) may be something that stands on the table. What depth does not see is judged by its rim."""
    known = np.isfinite(seen.points[..., 2]) & mask
    if known.sum() < 0.1 * mask.sum():
        rim = cv2.dilate(mask.astype(np.uint8), np.ones((9, 9), np.uint8)).astype(bool) & ~mask
        around = seen.points[rim & np.isfinite(seen.points[..., 2])][:, 2]
        return bool(len(around) and BELOW < np.median(around) < TALLEST)
    if (seen.table & known).sum() > 0.5 * known.sum():
        return False
    low, middle, high = np.percentile(seen.points[known], (5, 50, 95), axis=0)
    wide = max((high - low)[:2])
    return bool(middle[2] > BELOW and high[2] < TALLEST and wide < WIDEST)


def carried(seen: Seen, found: list[tuple[np.ndarray, float]]) -> list[tuple[np.ndarray, float]]:
    """Without what hangs in the air: high things stay where what lies under their lower edge does not hang itself."""
    masks = [_small(seen, mask) for mask, _ in found]
    high = [i for i, mask in enumerate(masks) if _lowest(seen, mask) > HANGING]
    while True:
        hanging = np.logical_or.reduce([masks[i] for i in high]) if high else None
        held = [i for i in high if hanging is None or not _rests(seen, masks[i], ~hanging)]
        if len(held) == len(high):
            return [entry for i, entry in enumerate(found) if i not in high]
        high = held


def _lowest(seen: Seen, mask: np.ndarray) -> float:
    z = seen.points[mask][:, 2]
    return float(np.percentile(z[np.isfinite(z)], 5)) if np.isfinite(z).any() else 0.0


def _rests(seen: Seen, mask: np.ndarray, on: np.ndarray) -> bool:
    """Whether a good part of the mask's lower edge is close, in space, to pixels of `on` just under it."""
    gap, height = 5, mask.shape[0]
    cols = np.flatnonzero(mask.any(0))
    rows = height - 1 - np.argmax(mask[::-1, cols], axis=0)
    under = np.minimum(rows + gap, height - 1)
    inner = np.maximum(rows - 2, 0)
    far = np.linalg.norm(seen.points[under, cols] - seen.points[inner, cols], axis=-1)
    return bool(np.mean(on[under, cols] & (far < CLOSE)) > 0.3)


def nested(seen: Seen, found: list[tuple[np.ndarray, float]]) -> list[tuple[np.ndarray, float]]:
    """Wholes without their parts, and no wholes of several things: who covers whom decides, then convexity."""
    alive = sorted(found, key=lambda entry: -int(entry[0].sum()))
    i = 0
    while i < len(alive):
        whole = alive[i][0]
        parts = [j for j in range(i + 1, len(alive)) if _inside(alive[j][0], whole) > 0.9]
        if several(seen, whole, [alive[j][0] for j in parts]):
            alive.pop(i)
            continue
        alive = [entry for j, entry in enumerate(alive) if j not in parts]
        i += 1
    return alive


def several(seen: Seen, whole: np.ndarray, parts: list[np.ndarray]) -> bool:
    """Whether a mask is of several things: two of its parts, apart on the ground, are most of it."""
    parts = [part for part in parts if part.sum() > 0.1 * whole.sum()]
    if len(parts) < 2 or np.logical_or.reduce(parts).sum() < 0.7 * whole.sum():
        return False
    areas = [footprint(seen, _small(seen, part)) for part in parts]
    for i, one in enumerate(parts):
        for j, other in enumerate(parts[:i]):
            both = footprint(seen, _small(seen, one | other))
            if not (one & other).any() and both > 1.3 * max(areas[i], areas[j]):
                return True
    return False


def joined(seen: Seen, found: list[tuple[np.ndarray, float]]) -> list[tuple[np.ndarray, float]]:
    """Masks that are one convex thing put together; the score is the lesser one's."""
    whole: list[tuple[np.ndarray, float]] = []
    for mask, score in sorted(found, key=lambda entry: -int(entry[0].sum())):
        home = next((i for i, (other, _) in enumerate(whole) if one_thing(seen, other, mask)), None)
        if home is None:
            whole.append((mask, score))
        else:
            whole[home] = whole[home][0] | mask, min(whole[home][1], score)
    if len(whole) < len(found):  # two side walls are one thing only by the top they share
        return joined(seen, whole)
    return sorted(whole, key=lambda entry: -entry[1])


def one_thing(seen: Seen, large: np.ndarray, small: np.ndarray) -> bool:
    """Two faces of a body: they touch, together they stand on no more ground than one of them, and they are of one
    hue, or one is the level top of the other."""
    a, b = _small(seen, large), _small(seen, small)
    if not _boxes_touch(a, b):
        return False
    near = cv2.dilate(a.astype(np.uint8), np.ones((7, 7), np.uint8)).astype(bool)
    known = np.isfinite(seen.points[..., 2])
    if not (near & b).any() or min((a & known).sum(), (b & known).sum()) < 20:
        return False
    if footprint(seen, a | b) > 1.2 * max(footprint(seen, a), footprint(seen, b)):
        return False
    hues = [np.median(seen.lab[part][:, 1:], 0) for part in (a, b)]
    if np.linalg.norm(hues[0] - hues[1]) < 12:
        return True
    spans = [np.percentile(seen.points[part & known][:, 2], (10, 50, 90)) for part in (a, b)]
    top, side = sorted(spans, key=lambda span: -span[1])
    return bool(top[2] - top[0] < FLAT and abs(top[1] - side[2]) < 3 * FLAT)


def _boxes_touch(one: np.ndarray, other: np.ndarray, margin: int = 4) -> bool:
    """Quick: whether the boxes around two masks come within so many pixels of each other."""
    for axis in (0, 1):
        a, b = np.flatnonzero(one.any(axis)), np.flatnonzero(other.any(axis))
        if not len(a) or not len(b) or a[0] > b[-1] + margin or b[0] > a[-1] + margin:
            return False
    return True


def footprint(seen: Seen, mask: np.ndarray) -> float:
    """Square metres of ground under a mask (h, w), as a convex outline; the outermost points are noise."""
    ground = seen.points[mask][:, :2]
    ground = ground[np.isfinite(ground).all(1)]
    if len(ground) < 10:
        return 0.0
    gap = np.linalg.norm(ground - np.median(ground, 0), axis=1)
    return float(cv2.contourArea(cv2.convexHull(ground[gap <= np.quantile(gap, 0.98)].astype(np.float32))))


def _small(seen: Seen, mask: np.ndarray) -> np.ndarray:
    return mask[:: seen.step, :: seen.step]


def _inside(part: np.ndarray, whole: np.ndarray) -> float:
    return float((part & whole).sum() / max(1, part.sum()))


def _unlike(found: list[tuple[np.ndarray, float]]) -> list[tuple[np.ndarray, float]]:
    """Without masks that are all but an earlier one again."""
    kept: list[tuple[np.ndarray, float]] = []
    for mask, score in found:
        if all((mask & other).sum() < 0.8 * (mask | other).sum() for other, _ in kept):
            kept.append((mask, score))
    return kept


def _apart(found: list[tuple[np.ndarray, float]]) -> list[tuple[np.ndarray, float]]:
    """Each without what an earlier one has; what is left of it must still be a good part."""
    taken, kept = np.zeros(found[0][0].shape if found else (0, 0), bool), []
    for mask, score in found:
        own = mask & ~taken
        if own.mean() > LEAST and own.sum() > 0.3 * mask.sum():
            kept.append((own, score))
            taken |= own
    return kept
