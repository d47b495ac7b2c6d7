"""Find the asset of an object that is partly hidden, which is larger and of another outline than what shows of it.

Each likely candidate is fitted in its own size to the measured points. If it explains them to a few millimetres, and
its outline is what shows of the object where nothing is in front of it, it is compared with the photograph as it would
look there.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from pipeline.assets import Asset, AssetError
from pipeline.assets.appearance.features import COLOUR_ONLY_CATEGORIES
from pipeline.assets.appearance.ray_views import render_posed
from pipeline.frame import Frame
from pipeline.frame.occlusion import NEARER_M
from pipeline.geometry import bounding_box
from pipeline.matching import Candidate, IndexedLibrary, Match, Query
from pipeline.matching.as_seen import match_as_seen
from pipeline.scene.observed_object import ObservedObject
from pipeline.scene.pose_search import CHECK_EFFORT, PoseFit, fit_own_size

MAX_TRIED = 5
"""Candidates that are fitted: the right one was among the first four of 21 hidden objects."""
MIN_COLOUR = 0.2
"""Overlap of the colours, which a part shows as well as the whole, below which a candidate is not tried."""
MAX_COST_M = 0.003
"""Largest cost at which a candidate in its own size explains what shows."""
MIN_OVERLAP = 0.7
"""Least intersection over union of what shows of the object and of the fitted candidate: 0.7 to 0.9 for right ones
under the segmenter's own masks."""


def match_hidden(observed: ObservedObject, indexed: IndexedLibrary, cache: Path | None = None) -> Match:
    """Return the match of a partly hidden object, with the asset that explains what shows of it if there is one.

    Takes up to half a second for each candidate. A match with an asset, or without an encoder, stays as it is.
    """
    found = observed.match
    assert found is not None
    # Fewest points that locate an asset
    if found.asset_id is not None or indexed.encoder is None or len(observed.points) < 100:
        return found
    tried = [one for one in found.candidates if _may_be(one, indexed)][:MAX_TRIED]
    fitted = {one.asset_id: _fitted(observed, indexed.library[one.asset_id], cache) for one in tried}
    seen = {asset_id: query for asset_id, query in fitted.items() if query is not None}
    query = Query(observed.observation, observed.segment, observed.description)
    return match_as_seen(query, found, seen, indexed) if seen else found


def _may_be(candidate: Candidate, indexed: IndexedLibrary) -> bool:
    """Whether a candidate has the colours of the object, or is one of many of which only the colours differ."""
    hollow = indexed.library[candidate.asset_id].category in COLOUR_ONLY_CATEGORIES
    return hollow or candidate.scores.get("colour", 1.0) >= MIN_COLOUR


def _fitted(observed: ObservedObject, asset: Asset, cache: Path | None) -> Query | None:
    """Return a fitted candidate as the camera would see it; None if it does not explain what shows of the object."""
    try:
        fit = fit_own_size(observed, asset, cache, CHECK_EFFORT)
        if fit.cost > MAX_COST_M:
            return None
        frame, shown = _seen_alone(observed, asset, fit)
    except AssetError:
        return None
    mask = observed.segment.mask
    if (shown & mask).sum() < MIN_OVERLAP * (shown | mask).sum():
        return None
    segment = replace(observed.segment, mask=shown)
    return Query(replace(observed.observation, frame=frame), segment, observed.description)


def _seen_alone(observed: ObservedObject, asset: Asset, fit: PoseFit) -> tuple[Frame, np.ndarray]:
    """Return a photograph of nothing but the fitted asset, and where it shows, of shape (H, W), bool.

    What the real photograph has in front of it hides it.
    """
    frame, mask = observed.observation.frame, observed.segment.mask
    box, (height, width) = bounding_box(mask), mask.shape
    pad = max(8, box.height // 2, box.width // 2)  # an asset that reaches further does not explain the mask
    part = np.s_[
        max(0, box.top - pad) : min(height, box.bottom + pad), max(0, box.left - pad) : min(width, box.right + pad)
    ]
    rows, columns = np.mgrid[part]
    rays = frame.intrinsics.ray_directions(columns.astype(float), rows.astype(float))
    camera_from_object = np.linalg.inv(observed.observation.support.world_from_camera) @ fit.pose.matrix
    depth, rgb = render_posed(asset, asset.size * fit.scale, camera_from_object, rays)
    measured = frame.depth[part]
    shows = (depth > 0) & ((measured == 0) | (measured > depth - NEARER_M) | mask[part])
    picture, distance, shown = np.zeros_like(frame.rgb), np.zeros(mask.shape, np.float32), np.zeros(mask.shape, bool)
    picture[part], distance[part], shown[part] = rgb * shows[..., None], np.where(shows, depth, 0), shows
    return Frame(picture, distance, frame.intrinsics), shown
