"""Retrieval of the views of assets that are most similar to a query, and verification of printed assets."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import cv2
import numpy as np

from pipeline.assets import AssetError
from pipeline.assets.appearance.features import COLOUR_ONLY_CATEGORIES, RESTING_ROTATIONS, LibraryFeatures
from pipeline.assets.appearance.ray_views import camera_rotations, render_views
from pipeline.assets.asset import Asset
from pipeline.frame import Frame
from pipeline.geometry import bounding_box
from pipeline.matching.calibration import (
    EMBEDDING_WEIGHT,
    WEIGHTS_WITHOUT_ENCODER,
    ViewPriors,
    probability,
    score_without_encoder,
    size_log_odds,
    variant_log_odds,
)
from pipeline.matching.indexed_library import IndexedLibrary
from pipeline.matching.matcher import MatcherName
from pipeline.matching.query import Query, QueryView
from pipeline.matching.similarity import compare, embedding_similarity, size_ratio
from pipeline.segmentation import Segment

MAX_COMPARED_ASSETS = 64
"""Assets that are compared in full. With 133 assets and 50 real objects the answers equalled those of comparing all."""
MAX_RERANKED = 3
"""Candidates that are rendered again and whose prints are verified: some hundredths of a second each."""
FLAT_SIDED = {"box", "cube", "block", "book", "carton"}
ROUND = {"can", "cylinder", "ball", "fruit", "tape"}
HOLLOW = {"bowl", "mug", "cup", "plate", "pan"}
CONTRADICTED_CATEGORIES = {
    "box": ROUND | HOLLOW,
    "cube": ROUND | HOLLOW,
    "cylinder": FLAT_SIDED | {"plate", "tray"},
    "sphere": FLAT_SIDED | {"bottle", "can", "tray"},
    "bowl": FLAT_SIDED | ROUND | {"bottle", "tool"},
}
"""Asset categories that each measured shape contradicts."""

CROP_PIXELS = 192
"""Longer side of a crop and of a view. 256 with two views took four times as long and proved no more."""
ELEVATION_STEP_DEG = 5.0
"""Step of the elevations that views are rendered at, so that objects seen from one camera share them."""


class ScoredView(NamedTuple):
    """A view of an asset and how similar it is to the query."""

    view: int
    """Index into the views of the library's features."""
    score: float
    """Probability or, without an encoder, geometric mean; in [0, 1]."""
    terms: dict[str, float]
    """Similarity by name, with "scale", and with "picture" for the encoder's cosine."""


def best_views(
    view: QueryView, indexed: IndexedLibrary, shape: str, matcher: MatcherName, count: int
) -> list[ScoredView]:
    """Return the best view of each asset, best asset first, at most `count`. `shape` is the measured primitive."""
    features, encoder = indexed.features, indexed.encoder
    views = np.flatnonzero(np.abs(features.elevation - view.elevation) <= _elevation_range(features, view.elevation))
    categories = [indexed.library[id].category for id in features.ids]
    hollow = np.array([category in COLOUR_ONLY_CATEGORIES for category in categories])
    cosine = None
    if encoder and view.embedding is not None:
        cosine = embedding_similarity(view.embedding, features, hollow[features.owner], encoder)
        views = _shortlist_by_embedding(view, features, views, cosine, matcher, count)
    owner = features.owner[views]
    similarity = compare(view.descriptors, features.descriptors.take(views))
    rest = rest_prior(features.up[views], features.descriptors.extents[views])
    priors = ViewPriors(rest, features.has_print[owner], hollow[owner])
    terms = {name: getattr(similarity, name) for name in (*WEIGHTS_WITHOUT_ENCODER, "scale")}
    if cosine is None:
        contradicted = np.array([category in CONTRADICTED_CATEGORIES.get(shape, ()) for category in categories])
        score = score_without_encoder(similarity, priors, contradicted[owner])
    else:
        terms["picture"] = np.clip(cosine[views], 0, 1)
        score = probability(similarity, cosine[views], priors)
        score = terms["picture"] if matcher == "embedding" else score
    best = sorted(_best_per_owner(score, owner), key=lambda row: -score[row])[:count]
    return [
        ScoredView(int(views[row]), float(score[row]), {name: float(values[row]) for name, values in terms.items()})
        for row in best
    ]


def _shortlist_by_embedding(
    view: QueryView, features: LibraryFeatures, views: np.ndarray, cosine: np.ndarray, matcher: MatcherName, count: int
) -> np.ndarray:
    """Return those of the views whose assets have the highest cosine and a similar size.

    Costs a hundredth of the full comparison, which thereby takes the same time in a library of any size.
    """
    owner, rough = features.owner[views], cosine[views]
    if matcher != "embedding":
        rough = (
            rough + size_log_odds(size_ratio(view.descriptors, features.descriptors.extents[views])) / EMBEDDING_WEIGHT
        )
    rows = _best_per_owner(rough, owner)
    if len(rows) <= (most := max(MAX_COMPARED_ASSETS, count)):
        return views
    return views[np.isin(owner, owner[rows[np.argsort(-rough[rows])[:most]]])]


def _best_per_owner(score: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Return the row of each owner's best score."""
    order = np.lexsort((-score, owner))
    return order[np.r_[True, np.diff(owner[order]) > 0]] if len(order) else order


def print_matches(query: Query, view: QueryView, indexed: IndexedLibrary, best: Sequence[ScoredView]) -> dict[int, int]:
    """Return the number of matching keypoints, by view, of the first few printed candidates.

    Empty if the first candidate is clear.
    """
    features = indexed.features
    if indexed.encoder and is_clear(best):
        return {}
    printed = [one.view for one in best[: 3 * MAX_RERANKED] if features.has_print[features.owner[one.view]]]
    printed = printed[:MAX_RERANKED]
    keypoints = _detect_keypoints(*_crop(query.observation.frame, query.segment)) if printed else None
    return {one: _print_inliers(keypoints, view.elevation, indexed, one) for one in printed}


def reorder_colour_variants(best: Sequence[ScoredView], indexed: IndexedLibrary) -> list[ScoredView]:
    """Return the views with the assets of the first one's category ranked with their colours, if they are hollow.

    Against "no match" the colours of hollow assets hardly count, since a grey mug may represent a blue one. Among
    bowls they do, beside size and shape: a bowl of the right size and colour comes before one of a like relief. Scores
    stay at their ranks.
    """
    if not best or (category := indexed.asset(best[0].view).category) not in COLOUR_ONLY_CATEGORIES:
        return list(best)
    features = indexed.features
    variants = [i for i, one in enumerate(best) if indexed.asset(one.view).category == category]
    views = np.array([best[i].view for i in variants])
    rest = rest_prior(features.up[views], features.descriptors.extents[views])
    odds = [variant_log_odds(best[i].terms, float(one)) for i, one in zip(variants, rest, strict=True)]
    order = [variants[k] for k in np.argsort(-np.array(odds), kind="stable")]
    result = list(best)
    for rank, i in zip(variants, order, strict=True):
        result[rank] = ScoredView(best[i].view, best[rank].score, best[i].terms)
    return result


def is_clear(best: Sequence[ScoredView]) -> bool:
    """Whether the first view is likely and the second at most half as likely."""
    first, rival = best[0].score, max([one.score for one in best[1:2]], default=0)
    # Probability above which the first candidate is accepted as it is, if the second has at most half of it
    return first > 0.9 and rival < first / 2


def _elevation_range(features: LibraryFeatures, elevation: float) -> float:
    """Return the tolerance in degrees that includes the rendered elevation nearest to the query's."""
    return float(np.abs(np.unique(features.elevation) - elevation).min()) + 9


def rest_prior(up: np.ndarray, extents: np.ndarray) -> np.ndarray:
    """Return how likely assets rest as in these views, of shape (V,), in (0, 1].

    Objects rarely rest otherwise than in their file, and hardly ever on end. `up` (V,) is an index into
    RESTING_ROTATIONS; `extents` (V, 2) are the view's width and height in metres.
    """
    tall = extents[:, 1] > 1.4 * extents[:, 0]
    return np.where(up == 0, 1.0, np.where(tall, 0.87, 0.95))


def _crop(frame: Frame, segment: Segment) -> tuple[np.ndarray, np.ndarray]:
    part = bounding_box(segment.mask).slices
    return frame.rgb[part], segment.mask[part]


def _print_inliers(keypoints: Any, elevation: float, indexed: IndexedLibrary, view: int) -> int:
    features = indexed.features
    try:
        return _count_inliers(
            indexed.asset(view), keypoints, elevation, features.azimuth[view], RESTING_ROTATIONS[features.up[view]]
        )
    except AssetError:
        return 0


def _detect_keypoints(picture: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return positions (N, 2) and descriptors (N, 128) in a picture (H, W, 3), uint8, within a mask.

    None if there are fewer than 8.
    """
    grey = cv2.cvtColor(np.ascontiguousarray(picture), cv2.COLOR_RGB2GRAY)
    factor = CROP_PIXELS / max(grey.shape)
    grey = cv2.resize(grey, None, fx=factor, fy=factor, interpolation=cv2.INTER_CUBIC if factor > 1 else cv2.INTER_AREA)
    inside = cv2.resize(mask.astype(np.uint8), grey.shape[::-1], interpolation=cv2.INTER_NEAREST)
    grey = cv2.createCLAHE(2, (4, 4)).apply(grey)
    sift: Any = cv2.SIFT.create(600, contrastThreshold=0.02)
    points, descriptors = sift.detectAndCompute(grey, cv2.erode(inside, np.ones((5, 5))))
    return None if len(points) < 8 else (np.array([p.pt for p in points], np.float32), descriptors)


def _count_inliers(
    asset: Asset, crop: tuple[np.ndarray, np.ndarray] | None, elevation: float, azimuth: float, up: np.ndarray
) -> int:
    """Return how many of a crop's keypoints match the asset's view from these degrees.

    SIFT tolerates a rotation of about twenty degrees out of the plane.
    """
    if crop is None:
        return 0
    view = _view_keypoints(
        asset, ELEVATION_STEP_DEG * round(elevation / ELEVATION_STEP_DEG), float(azimuth), tuple(map(float, up.ravel()))
    )
    return _affine_inliers(crop, view) if view else 0


@lru_cache(maxsize=256)
def _view_keypoints(
    asset: Asset, elevation: float, azimuth: float, up: tuple[float, ...]
) -> tuple[np.ndarray, np.ndarray] | None:
    turn = camera_rotations(np.array([azimuth]), np.array([elevation]), np.reshape(up, (3, 3)))
    view = render_views(asset, turn, CROP_PIXELS, max_texture=1024)
    return _detect_keypoints(view.rgb[0], view.masks[0])


def _affine_inliers(a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]) -> int:
    pairs = cv2.BFMatcher().knnMatch(a[1], b[1], k=2)
    distinct = [pair[0] for pair in pairs if len(pair) == 2 and pair[0].distance < 0.78 * pair[1].distance]
    if len(distinct) < 6:
        return 0
    start, end = a[0][[m.queryIdx for m in distinct]], b[0][[m.trainIdx for m in distinct]]
    affine, inliers = cv2.estimateAffine2D(start, end, ransacReprojThreshold=8)
    if affine is None or np.linalg.det(affine[:, :2]) < 0:
        return 0  # no map, or a mirrored one
    strongest, weakest = np.linalg.svd(affine[:, :2])[1]
    return int(inliers.sum()) if strongest < 2.2 and weakest > 0.35 else 0
