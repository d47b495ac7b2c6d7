"""Confidence that an object of the twin is the observed one: what of it shows, how it fits, what else would match."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from pipeline.frame import Frame, Intrinsics
from pipeline.geometry import PixelBox, bounding_box
from pipeline.geometry.rays import cast_rays, triangle_scene
from pipeline.matching import Match
from pipeline.matching.measured import MIN_PROBABILITY
from pipeline.scene import registration
from pipeline.scene.fidelity import ObjectFidelity
from pipeline.scene.placement import Placement, Scene
from pipeline.segmentation import Segment

ConfidenceLevel = Literal["sure", "fairly sure", "unsure"]
MAX_RAYS = 6000
"""Rays per object: they give its outline to a few per cent in some ten milliseconds."""
DEPTH_SCALE_M = 0.02
"""Depth error at which the depth term falls to 1 / e."""
MAX_RIVAL_PENALTY = 0.1
"""Amount by which the nearest asset lowers the confidence in a reconstructed object if it would nearly match."""
LOW_MATCHER_SCORE, LOW_MATCH_SCORE = 0.5, 0.7
"""Scores of one matcher, and of all together, below which an asset is named as doubtful."""
MATCHER_NAMES = {"appearance": "pattern"}
"""Names shown for matchers where they differ from their own."""
HALF_POINTS = 100
"""Number of measured points at which the points term is one half."""


@dataclass(frozen=True)
class ConfidenceTerms:
    """What speaks for an object, each in [0, 1]."""

    rivals: float
    """Score of the chosen candidate over the sum of its score and the next one's. If no asset was chosen, 1 less
    MAX_RIVAL_PENALTY times the first candidate's score relative to an acceptable one. If the chosen asset was rejected,
    1 less MAX_RIVAL_PENALTY."""
    outline: float
    """Intersection over union of the visible object with the mask."""
    depth: float
    """exp(-error / DEPTH_SCALE_M)."""
    visibility: float
    """Share of the object's outline that nothing occludes."""
    points: float
    """n / (n + HALF_POINTS) for n measured points."""
    shape: float
    """1 for an asset of the library. For a reconstruction the hidden side is guessed, and half of it counts."""


@dataclass(frozen=True)
class Confidence:
    """Confidence in one object of the twin."""

    segment_id: int
    score: float
    """Geometric mean of being the right object and of its placement, in [0, 1]: an order, not a probability."""
    level: ConfidenceLevel
    reason: str
    """One sentence that names the weakest term."""
    terms: ConfidenceTerms


def object_confidences(
    frame: Frame,
    segments: Iterable[Segment],
    scene: Scene,
    matches: Iterable[Match],
    fidelities: Mapping[int, ObjectFidelity] | None = None,
) -> tuple[Confidence, ...]:
    """Return the confidence in every object of the twin that has a mask. An asset that a person chose has no rivals.

    With `fidelities`, by segment id, the reasons quote their figures instead of slightly different ones.
    """
    masks, matched = {s.id: s.mask for s in segments}, {m.segment_id: m for m in matches}
    fidelities = fidelities or {}
    return tuple(
        _confidence(
            _Comparison.of(frame, masks[p.segment_id], p, scene.world_from_camera),
            matched.get(p.segment_id),
            fidelities.get(p.segment_id),
        )
        for p in scene.placements
        if p.segment_id in masks and masks[p.segment_id].any()
    )


def identity_doubts(scene: Scene, matches: Iterable[Match]) -> dict[str, str]:
    """Return by an object's name why it may be another object than the placed asset; none for those that are sure.

    An object without an asset, or one whose asset a person chose, is what it looks like.
    """
    matched = {m.segment_id: m for m in matches}
    found = {p.name: _match_doubt(matched.get(p.segment_id), p.asset_id) for p in scene.placements}
    human = {p.name for p in scene.placements if (m := matched.get(p.segment_id)) and m.source == "human"}
    return {name: doubt for name, doubt in found.items() if doubt and name not in human}


def object_depth(p: Placement, k: Intrinsics, world_from_camera: np.ndarray, box: PixelBox, step: int) -> np.ndarray:
    """Return the depth in metres of one object alone in every step-th pixel of a box, of shape (h, w); 0 beside it."""
    u, v = np.meshgrid(np.arange(box.left, box.right, step), np.arange(box.top, box.bottom, step))
    object_from_camera = p.world_from_object.inverse().matrix @ world_from_camera
    scene = triangle_scene(registration.load_surface(p.mesh, p.size).triangles)
    directions = k.ray_directions(u, v).reshape(-1, 3) @ object_from_camera[:3, :3].T
    # the rays have length 1 along z, and Open3D counts in lengths of the ray: distance is depth
    depth = cast_rays(scene, object_from_camera[:3, 3], directions).distance.reshape(u.shape)
    return np.where(np.isfinite(depth), depth, 0)


@dataclass(frozen=True, eq=False)
class _Comparison:
    """One object of the twin against the photograph."""

    p: Placement
    outline: float
    """Intersection over union of the visible object and the mask."""
    depth_error: float
    """Median in metres; 0 if object and mask share no measured pixel."""
    visible_share: float
    """Share of the object's outline that nothing occludes."""
    point_count: int
    """Measured pixels of the mask."""
    facing_share: float
    """Share of the object's surface that faces the camera."""

    @classmethod
    def of(cls, frame: Frame, mask: np.ndarray, p: Placement, world_from_camera: np.ndarray) -> "_Comparison":
        box, step = _window(mask)
        window = np.s_[box.top : box.bottom : step, box.left : box.right : step]
        depth = object_depth(p, frame.intrinsics, world_from_camera, box, step)
        in_mask, measured = mask[window], frame.depth[window]
        alone = depth > 0
        # Distance by which something must be nearer to the camera to occlude a part of the object
        shown = alone & ~((measured > 0) & (measured < depth - 0.015) & ~in_mask)
        both = shown & in_mask & (measured > 0)
        facing = registration.load_surface(p.mesh, p.size).faces_camera(p.world_from_object, world_from_camera[:3, 3])
        return cls(
            p,
            outline=float((shown & in_mask).sum() / max((shown | in_mask).sum(), 1)),
            depth_error=float(np.median(np.abs(depth - measured)[both])) if both.any() else 0.0,
            visible_share=float(shown.sum() / max(alone.sum(), 1)),
            point_count=int((mask & (frame.depth > 0)).sum()),
            facing_share=float(facing.mean()),
        )


def _confidence(comparison: _Comparison, match: Match | None, fidelity: ObjectFidelity | None) -> Confidence:
    p, count = comparison.p, comparison.point_count
    rivals, rival = _rivals(match, p.asset_id)
    terms = ConfidenceTerms(
        rivals=rivals,
        outline=comparison.outline,
        depth=float(np.exp(-max(p.misfit, comparison.depth_error) / DEPTH_SCALE_M)),
        visibility=comparison.visible_share,
        points=count / (count + HALF_POINTS),
        shape=1.0 if p.asset_id else (1 + comparison.facing_share) / 2,
    )
    score = float(np.sqrt(np.prod(list(asdict(terms).values()))))
    level: ConfidenceLevel = (
        # Scores from which the level is "sure" and "fairly sure"
        "sure" if score >= 0.75 else "fairly sure" if score >= 0.6 else "unsure"
    )
    figures = (
        (fidelity.mask_iou, fidelity.depth_error or 0.0) if fidelity else (comparison.outline, comparison.depth_error)
    )
    if disagreement := _disagreement(p, match):
        return Confidence(p.segment_id, score, "unsure", disagreement, terms)
    if level == "sure":
        reason = _reason_if_sure(p, match, terms, rival, figures)
    else:
        reason = _weakest_term(p, terms, rival, figures, count)
    return Confidence(p.segment_id, score, level, reason, terms)


def _disagreement(p: Placement, match: Match | None) -> str:
    """Return a sentence about a model's choice that measurement outweighs, for a person to decide; empty if none is."""
    if match is None or match.source == "human":
        return ""
    if match.dissent:
        return (
            f"Measurement and model disagree: {match.dissent}, {_readable(p.asset_id or 'a shape of its own')} stands."
        )
    is_models = match.source not in ("measured", "rules") and p.overruled
    return f"Measurement and model disagree: {p.overruled}." if is_models else ""


def _window(mask: np.ndarray) -> tuple[PixelBox, int]:
    """Return the pixels around a mask in which an object is compared, and the step that MAX_RAYS allows."""
    inner = bounding_box(mask)
    # 0.6: margin around the mask as a share of its longer side, in which a misplaced object is still found
    margin = int(0.6 * (max(inner.width, inner.height) - 1)) + 8
    box = inner._replace(right=inner.right - 1, bottom=inner.bottom - 1).padded(margin, mask.shape)
    return box, max(1, int(np.ceil(np.sqrt(box.width * box.height / MAX_RAYS))))


def _rivals(match: Match | None, placed: str | None) -> tuple[float, str]:
    """Return how far the next candidate is behind the chosen one, in [0, 1], and a clause about it."""
    if match is None or match.source == "human" or not match.candidates:
        return 1.0, ""
    first = match.candidates[0]
    if match.asset_id is None:
        closeness = min(first.score / MIN_PROBABILITY, 1.0)
        nearest = f"the closest asset, {_readable(first.asset_id)}, scores {first.score:.0%}"
        return 1 - MAX_RIVAL_PENALTY * closeness, nearest
    if placed is None:
        rejected = f"{_readable(match.asset_id)}, the matched asset, does not fit what was measured"
        return 1 - MAX_RIVAL_PENALTY, rejected
    score = next((c.score for c in match.candidates if c.asset_id == match.asset_id), first.score)
    rival = next((c for c in match.candidates if c.asset_id != match.asset_id), None)
    if rival is None:
        return 1.0, ""
    clause = f"the next candidate, {_readable(rival.asset_id)}, scores {rival.score:.0%}"
    return score / max(score + rival.score, 1e-6), clause


def _readable(asset_id: str) -> str:
    return asset_id.replace("_", " ")


def _weakest_term(
    p: Placement, terms: ConfidenceTerms, rival: str, figures: tuple[float, float], point_count: int
) -> str:
    """Return a sentence about the weakest term. `figures` are the outline's IoU and the depth error in metres."""
    outline, depth_error = figures
    misfit = f"the measured points lie {p.misfit * 100:.1f} cm from it on average"
    clauses = {
        "rivals": rival,
        "outline": f"{outline:.0%} of its outline agrees with the mask",
        "depth": misfit if p.misfit > depth_error else f"it is {depth_error * 100:.1f} cm off in depth",
        "visibility": f"{1 - terms.visibility:.0%} of it is hidden by other objects",
        "shape": "its hidden side is estimated, because it was reconstructed from the view",
        "points": f"only {point_count} points of it were measured",
    }
    weakest = min(clauses, key=lambda name: getattr(terms, name))
    return f"{clauses[weakest][0].upper()}{clauses[weakest][1:]}."


def _reason_if_sure(
    p: Placement, match: Match | None, terms: ConfidenceTerms, rival: str, figures: tuple[float, float]
) -> str:
    """Return what is sure: a good placement says little about which object it is."""
    agreement = f"{figures[0]:.0%} of its outline agrees with the mask, {figures[1] * 100:.1f} cm off in depth"
    if match is not None and p.asset_id is None:
        if match.asset_id is not None:
            why = rival
        else:
            why = "no asset fits" if match.source != "human" else "reconstructed from the view, chosen by a person"
        return f"Position certain; {why}: {agreement}."
    doubt = _match_doubt(match, p.asset_id)
    if doubt:
        return f"Position certain, identity less so: {doubt}."
    if terms.rivals < 1 - 0.8 * MAX_RIVAL_PENALTY:
        return f"Position agrees with the photograph, but {rival}."
    return f"Everything agrees: {agreement}."


def _match_doubt(match: Match | None, placed: str | None) -> str:
    """Return what the matchers hold against the placed asset; empty if they agree on it."""
    chosen = next((c for c in match.candidates if c.asset_id == placed), None) if match else None
    if chosen is None:
        return "it is none of the matcher's candidates" if match and placed and match.candidates else ""
    poor = [MATCHER_NAMES.get(name, name) for name, score in chosen.scores.items() if score < LOW_MATCHER_SCORE]
    listed = " and ".join([", ".join(poor[:-1]), poor[-1]] if len(poor) > 1 else poor)
    if poor:
        return f"{listed} agree{'' if len(poor) > 1 else 's'} by less than half ({chosen.score:.0%} in all)"
    return f"{_readable(chosen.asset_id)} scores {chosen.score:.0%}" if chosen.score < LOW_MATCH_SCORE else ""
