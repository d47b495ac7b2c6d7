"""The first few candidates drawn anew, as the camera sees them: the library's own views are thirty degrees apart."""

from collections.abc import Sequence

import numpy as np

from pipeline.assets import Asset, AssetError, Library
from pipeline.assets.encoder import Encoder
from pipeline.assets.features import OPEN, PIXELS, UPS, Features, colourless, describe_pictures
from pipeline.assets.views import look, rotations
from pipeline.matching.evidence import compare, pictured
from pipeline.matching.nearest import LOOKED_AT, Found, clear, rests_so
from pipeline.matching.sight import Sight
from pipeline.matching.weighing import WITHOUT, probability

TURNS = np.array([-15, -7.5, 0, 7.5, 15])
"""Degrees about the vertical, to both sides of the library's view."""
OPEN_STILL = 0.2
"""Probability from which a candidate may be the one: of others nothing is drawn."""


def looked_closer(
    seen: Sight, picture: np.ndarray, features: Features, library: Library, found: Sequence[Found], encoder: Encoder
) -> list[Found]:
    """The first few judged by views of the camera's own height and nearer to its side, then all in their new order.

    `picture` (2, D) is the segment as the encoder sees it. Nothing is drawn where the first is clear.
    """
    if not found or clear(found):
        return list(found)
    near = [one for one in found[:LOOKED_AT] if one[1] >= OPEN_STILL]
    drawn = [_drawn(seen, picture, features, library, one, encoder) for one in near]
    return sorted([*drawn, *found[len(near) :]], key=lambda one: -one[1])


def _drawn(
    seen: Sight, picture: np.ndarray, features: Features, library: Library, found: Found, encoder: Encoder
) -> Found:
    """One candidate's best new view: chosen by all but the encoder, which then looks at that one alone."""
    view, _, known = found
    owner, up = features.owner[view], features.up[view]
    asset = library[features.ids[owner]]
    turns = rotations(features.azimuth[view] + TURNS, np.array([np.clip(seen.elevation, 5, 85)]), UPS[up])
    try:
        views = look(asset, turns, PIXELS)
        shown = describe_pictures(views.rgb, views.masks, views.depth, views.extents)
        evidence = compare(seen.look, shown)
        count, hollow = len(turns), asset.category in OPEN
        kind = np.full(count, features.printed[owner]), np.full(count, hollow)
        rests = rests_so(np.full(count, up), shown.extents)
        best = int(np.argmax(probability(evidence, np.full(count, known["picture"]), rests, *kind)))
        alike = _alike(asset, turns[best], picture, features, encoder, hollow)
    except AssetError:
        return found
    score = probability(evidence, np.full(count, alike), rests, *kind)[best]
    said = {name: float(getattr(evidence, name)[best]) for name in (*WITHOUT, "scale")}
    return view, float(score), said | {"picture": float(np.clip(alike, 0, 1))}


def _alike(
    asset: Asset, turn: np.ndarray, picture: np.ndarray, features: Features, encoder: Encoder, hollow: bool
) -> float:
    """The encoder's cosine for one view (3, 3) of an asset."""
    large = look(asset, turn[None], encoder.pixels)
    rgb = np.concatenate([large.rgb, colourless(large.rgb)]) if hollow else large.rgb
    drawn = pictured(rgb, np.repeat(large.masks, len(rgb), axis=0), features, encoder)
    return float((drawn * picture[: len(drawn)]).sum(axis=1).max())
