"""Which views of which assets come near a segment, best first, and whose print agrees."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.assets import Asset, AssetError, Library
from pipeline.assets.encoder import Encoder
from pipeline.assets.features import OPEN, UPS, Features
from pipeline.assets.prints import agreeing_points, keypoints
from pipeline.frame import Frame
from pipeline.matching.evidence import compare, picture_agrees, resized
from pipeline.matching.modes import Matcher
from pipeline.matching.sight import Sight
from pipeline.matching.weighing import PICTURE, WITHOUT, likeness, looks_odds, probability, size_odds
from pipeline.segmentation import Segment

CLOSELY = 64
"""Assets that are compared closely: on fifty real objects and 133 assets the answers were those of comparing all."""
LOOKED_AT = 3
"""Candidates that are drawn anew and whose print is looked at closely: it takes some hundredths of a second each."""
SAME_FORM = 0.02
"""Share by which the sizes of one form in several colours may differ."""
CLEAR = 0.9
"""Probability from which the best one need not be looked at closely, where its next rival has half of it at most."""
FLAT_SIDED = {"box", "cube", "block", "book", "carton"}
ROUND = {"can", "cylinder", "ball", "fruit", "tape"}
HOLLOW = {"bowl", "mug", "cup", "plate", "pan"}
AGAINST = {
    "box": ROUND | HOLLOW,
    "cube": ROUND | HOLLOW,
    "cylinder": FLAT_SIDED | {"plate", "tray"},
    "sphere": FLAT_SIDED | {"bottle", "can", "tray"},
    "bowl": FLAT_SIDED | ROUND | {"bottle", "tool"},
}
"""Categories that a measured primitive speaks against."""


Found = tuple[int, float, dict[str, float]]
"""A view, its score, its evidence by name."""


def best_views(
    seen: Sight,
    picture: np.ndarray | None,
    features: Features,
    library: Library,
    shape: str,
    encoder: Encoder | None,
    matcher: Matcher,
    count: int,
) -> list[Found]:
    """Each asset's best view, best asset first, at most `count`.

    `picture` (2, D) is the segment as the encoder sees it, with its colours and without.
    """
    views = np.flatnonzero(np.abs(features.elevation - seen.elevation) <= _reach(features, seen.elevation))
    kinds = [library[id].category for id in features.ids]
    open_ = np.array([kind in OPEN for kind in kinds])
    alike = None
    if encoder and picture is not None:
        alike = picture_agrees(picture, features, open_[features.owner], encoder)
        views = _promising(seen, features, views, alike, matcher, count)
    owner = features.owner[views]
    evidence = compare(seen.look, features.look.take(views))
    hollow, rests = open_[owner], rests_so(features.up[views], features.look.extents[views])
    shown = {name: getattr(evidence, name) for name in (*WITHOUT, "scale")}
    if alike is None:
        against = np.array([kind in AGAINST.get(shape, ()) for kind in kinds])[owner]
        score = likeness(evidence, rests, hollow, against)
    else:
        shown["picture"] = np.clip(alike[views], 0, 1)
        score = probability(evidence, alike[views], rests, features.printed[owner], hollow)
        score = shown["picture"] if matcher == "embedding" else score
    best = sorted(_firsts(score, owner), key=lambda view: -score[view])[:count]
    return [(int(views[v]), float(score[v]), {n: float(values[v]) for n, values in shown.items()}) for v in best]


def _promising(
    seen: Sight, features: Features, views: np.ndarray, picture: np.ndarray, matcher: Matcher, count: int
) -> np.ndarray:
    """Of these views those of the assets that the encoder finds most alike, and whose size is not far off.

    It costs a hundredth of comparing closely, and a library of any size then costs what CLOSELY assets do.
    """
    owner, rough = features.owner[views], picture[views]
    if matcher != "embedding":
        rough = rough + size_odds(resized(seen.look, features.look.extents[views])) / PICTURE
    firsts = _firsts(rough, owner)
    if len(firsts) <= (most := max(CLOSELY, count)):
        return views
    return views[np.isin(owner, owner[firsts[np.argsort(-rough[firsts])[:most]]])]


def _firsts(score: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Where each owner's best score is."""
    order = np.lexsort((-score, owner))
    return order[np.r_[True, np.diff(owner[order]) > 0]] if len(order) else order


def prints(
    frame: Frame,
    segment: Segment,
    seen: Sight,
    features: Features,
    library: Library,
    best: Sequence[Found],
    encoder: Encoder | None,
) -> dict[int, int]:
    """Points of the print that agree, by view, of the first few printed candidates; none where the first is clear."""
    if encoder and clear(best):
        return {}
    printed = [view for view, *_ in best[: 3 * LOOKED_AT] if features.printed[features.owner[view]]][:LOOKED_AT]
    points = keypoints(*_crop(frame, segment)) if printed else None
    return {
        view: _print_agrees(library[features.ids[features.owner[view]]], points, seen, features, view)
        for view in printed
    }


def coloured(best: Sequence[Found], features: Features, library: Library) -> list[Found]:
    """The same with hollow assets of one form in the order of their colours, where the first is one of several.

    Against nothing their colours hardly count, since a grey mug may stand for a blue one; against each other they do.
    """
    if not best or library[features.ids[features.owner[best[0][0]]]].category not in OPEN:
        return list(best)
    of = [library[features.ids[features.owner[view]]] for view, *_ in best]
    alike = [i for i, asset in enumerate(of) if _one_form(asset, of[0])]
    order = sorted(alike, key=lambda i: -looks_odds(best[i][2]))
    result = list(best)
    for place, i in zip(alike, order, strict=True):
        view, _, evidence = best[i]
        result[place] = view, best[place][1], evidence
    return result


def _one_form(one: Asset, other: Asset) -> bool:
    """Whether two assets differ in nothing but their looks."""
    return one.category == other.category and bool(np.allclose(one.size, other.size, rtol=SAME_FORM))


def clear(best: Sequence[Found]) -> bool:
    """Whether the first leaves no question: likely itself, and the next one half as likely at most."""
    return best[0][1] > CLEAR and max([score for _, score, _ in best[1:2]], default=0) < best[0][1] / 2


def _reach(features: Features, elevation: float) -> float:
    """How far off a view's elevation may be: to the nearest there is, and a little more."""
    return float(np.abs(np.unique(features.elevation) - elevation).min()) + 9


def rests_so(up: np.ndarray, extents: np.ndarray) -> np.ndarray:
    """Things rarely lie otherwise than in their file, and hardly ever stand on end: a factor for each view.

    `up` (V,) is how it lies, an index into UPS; `extents` (V, 2) what is seen of it.
    """
    tall = extents[:, 1] > 1.4 * extents[:, 0]
    return np.where(up == 0, 1.0, np.where(tall, 0.87, 0.95))


def _crop(frame: Frame, segment: Segment) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = np.flatnonzero(segment.mask.any(axis=1)), np.flatnonzero(segment.mask.any(axis=0))
    part = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    return frame.rgb[part], segment.mask[part]


def _print_agrees(asset: Asset, points: Any, seen: Sight, features: Features, view: int) -> int:
    try:
        return agreeing_points(asset, points, seen.elevation, features.azimuth[view], UPS[features.up[view]])
    except AssetError:
        return 0
