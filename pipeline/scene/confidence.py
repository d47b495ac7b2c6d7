"""How sure it is that an object of the twin is what was seen: how much shows, how it lies, what else would fit."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from pipeline.frame import Frame, Intrinsics
from pipeline.matching import Match
from pipeline.matching.matches import ENOUGH
from pipeline.scene import registration
from pipeline.scene.fidelity import Likeness
from pipeline.scene.placement import Placement, Scene
from pipeline.segmentation import Segment

Word = Literal["sure", "fairly sure", "unsure"]
SURE, FAIRLY = 0.75, 0.6
RAYS = 6000
"""For each object: its outline to a few per cent, in some ten milliseconds."""
AROUND = 0.6
"""Of the mask's larger side: how far beside it a misplaced object is still seen."""
NEARER = 0.015
"""Metres by which something must stand nearer to hide a part."""
FAR = 0.02
"""Metres off what was measured at which the depth speaks for it no more than 1 / e."""
TIE = 0.1
"""What a nearest asset that would nearly do takes away from what was made from the view."""
HALF, ALIKE = 0.5, 0.7
"""Where one matcher says less than the first, or all together less than the second, not everything agrees."""
NAMES = {"appearance": "pattern"}
"""What a person reads for a matcher's name, where that is another."""
FEW = 100
"""Measured points that tell half of what any number tells."""


@dataclass(frozen=True)
class Parts:
    """What speaks for an object, each in [0, 1]."""

    rivals: float
    """The chosen one's part of its and the next candidate's score; of none chosen, 1 - TIE * the first one's score as
    a share of what is enough; 1 - TIE where the points were against what was chosen."""
    outline: float
    """IoU of what shows of it with the mask."""
    depth: float
    """exp(-off / FAR)."""
    shows: float
    """Share of its outline, as the camera would see it alone, that nothing stands before."""
    points: float
    """n / (n + FEW) of the n points that were measured."""
    known: float
    """1 of a library's asset. Of what was made from the view the far side is guessed, and right for every other."""


@dataclass(frozen=True)
class Confidence:
    """About one object."""

    segment_id: int
    share: float
    """In [0, 1]; an order, no probability: the geometric mean of being the right thing and of lying right."""
    word: Word
    reason: str
    """One sentence that names the weakest part."""
    parts: Parts


def confidence(
    frame: Frame,
    segments: Iterable[Segment],
    scene: Scene,
    matches: Iterable[Match],
    likes: Mapping[int, Likeness] | None = None,
) -> tuple[Confidence, ...]:
    """Of every object of the twin that has a mask. A person's choice has no rivals; how it lies counts all the same.

    Where `likes`, by segment id, are known already, the sentences tell their figures and not others nearly the same.
    """
    masks, matched = {s.id: s.mask for s in segments}, {m.segment_id: m for m in matches}
    return tuple(
        _of(
            frame,
            masks[p.segment_id],
            p,
            scene.world_from_camera,
            matched.get(p.segment_id),
            (likes or {}).get(p.segment_id),
        )
        for p in scene.placements
        if p.segment_id in masks and masks[p.segment_id].any()
    )


def seen_alone(
    p: Placement, k: Intrinsics, world_from_camera: np.ndarray, box: tuple[int, int, int, int], step: int
) -> np.ndarray:
    """Depth in metres of one object in every step-th pixel of left, top, right, bottom, (h, w); 0 beside it."""
    import open3d

    left, top, right, bottom = box
    u, v = np.meshgrid(np.arange(left, right, step), np.arange(top, bottom, step))
    rays = np.stack([(u - k.cx) / k.fx, (v - k.cy) / k.fy, np.ones(u.shape)], -1).reshape(-1, 3)
    object_from_camera = p.world_from_object.inverse().matrix @ world_from_camera
    eyes = np.broadcast_to(object_from_camera[:3, 3], rays.shape)
    both = np.concatenate([eyes, rays @ object_from_camera[:3, :3].T], 1).astype(np.float32)
    corners = registration.surface(p.mesh, p.size).triangles.reshape(-1, 3).astype(np.float32)
    indices = np.arange(len(corners), dtype=np.uint32).reshape(-1, 3)
    scene = open3d.t.geometry.RaycastingScene()
    scene.add_triangles(open3d.core.Tensor.from_numpy(corners), open3d.core.Tensor.from_numpy(indices))
    # rays have length 1 along z, and Open3D counts in lengths of the ray: what it meets is depth
    met = scene.cast_rays(open3d.core.Tensor.from_numpy(both))["t_hit"].numpy().reshape(u.shape)
    return np.where(np.isfinite(met), met, 0)


def _of(
    frame: Frame,
    mask: np.ndarray,
    p: Placement,
    world_from_camera: np.ndarray,
    match: Match | None,
    like: Likeness | None,
) -> Confidence:
    box, step = _around(mask)
    part = np.s_[box[1] : box[3] : step, box[0] : box[2] : step]
    depth, mine, measured = seen_alone(p, frame.intrinsics, world_from_camera, box, step), mask[part], frame.depth[part]
    alone = depth > 0
    shown = alone & ~((measured > 0) & (measured < depth - NEARER) & ~mine)
    both = shown & mine & (measured > 0)
    error = float(np.median(np.abs(depth - measured)[both])) if both.any() else 0.0
    off = max(p.misfit, error)
    count = int((mask & (frame.depth > 0)).sum())
    rivals, rival = _rivals(match, p.asset_id)
    parts = Parts(
        rivals=rivals,
        outline=float((shown & mine).sum() / max((shown | mine).sum(), 1)),
        depth=float(np.exp(-off / FAR)),
        shows=float(shown.sum() / max(alone.sum(), 1)),
        points=count / (count + FEW),
        known=1.0 if p.asset_id else (1 + _facing(p, world_from_camera)) / 2,
    )
    share = float(np.sqrt(np.prod(list(asdict(parts).values()))))
    word: Word = "sure" if share >= SURE else "fairly sure" if share >= FAIRLY else "unsure"
    told = (like.mask_iou, like.depth_error or 0.0) if like else (parts.outline, error)
    reason = _sure(p, match, parts, rival, told) if word == "sure" else _weakest(p, parts, rival, told, count)
    return Confidence(p.segment_id, share, word, reason, parts)


def _facing(p: Placement, world_from_camera: np.ndarray) -> float:
    """Share of its surface that looks at the camera."""
    return float(registration.surface(p.mesh, p.size).facing(p.world_from_object, world_from_camera[:3, 3]).mean())


def _around(mask: np.ndarray) -> tuple[tuple[int, int, int, int], int]:
    """Left, top, right and bottom pixel around a mask, and the step that RAYS allow."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    pad = int(AROUND * max(rows[-1] - rows[0], columns[-1] - columns[0])) + 8
    left, top = max(0, columns[0] - pad), max(0, rows[0] - pad)
    right, bottom = min(mask.shape[1], columns[-1] + pad), min(mask.shape[0], rows[-1] + pad)
    step = max(1, int(np.ceil(np.sqrt((right - left) * (bottom - top) / RAYS))))
    return (int(left), int(top), int(right), int(bottom)), step


def _rivals(match: Match | None, placed: str | None) -> tuple[float, str]:
    """How far the next is behind the choice, in [0, 1], and what there is to say of it."""
    if match is None or match.source == "human" or not match.candidates:
        return 1.0, ""
    first = match.candidates[0]
    if match.asset_id is None:
        near = min(first.score / ENOUGH, 1.0)
        return 1 - TIE * near, f"the library's nearest, {_spoken(first.asset_id)}, scores {first.score:.0%}"
    if placed is None:
        return 1 - TIE, f"{_spoken(match.asset_id)}, which it was matched to, does not fit what was measured"
    mine = next((c.score for c in match.candidates if c.asset_id == match.asset_id), first.score)
    rival = next((c for c in match.candidates if c.asset_id != match.asset_id), None)
    if rival is None:
        return 1.0, ""
    return mine / max(
        mine + rival.score, 1e-6
    ), f"the next candidate, {_spoken(rival.asset_id)}, scores {rival.score:.0%}"


def _spoken(id: str) -> str:
    return id.replace("_", " ")


def _weakest(p: Placement, parts: Parts, rival: str, told: tuple[float, float], count: int) -> str:
    """`told` is how much of its outline agrees, and metres off in depth."""
    outline, error = told
    apart = f"what was seen lies {p.misfit * 100:.1f} cm from it on average"
    said = {
        "rivals": rival,
        "outline": f"{outline:.0%} of its outline agrees with the mask",
        "depth": apart if p.misfit > error else f"it lies {error * 100:.1f} cm off in depth",
        "shows": f"{1 - parts.shows:.0%} of it is hidden by what stands before it",
        "known": "its far side is guessed, for it was made from the view",
        "points": f"only {count} points of it were measured",
    }
    weakest = min(said, key=lambda name: getattr(parts, name))
    return f"{said[weakest][0].upper()}{said[weakest][1:]}."


def _sure(p: Placement, match: Match | None, parts: Parts, rival: str, told: tuple[float, float]) -> str:
    """Of what it is sure: that a thing lies right says little about what it is."""
    lies = f"{told[0]:.0%} of its outline agrees with the mask, {told[1] * 100:.1f} cm off in depth"
    if match is not None and p.asset_id is None:
        none = "no asset fits" if match.source != "human" else "made from the view, as a person chose"
        return f"Sure of its place; {none if match.asset_id is None else rival}: {lies}."
    doubt = _unlike(match, p.asset_id)
    if doubt:
        return f"Sure of its place, less of what it is: {doubt}."
    if parts.rivals < 1 - 0.8 * TIE:
        return f"It lies as it was seen, but {rival}."
    return f"Everything agrees: {lies}."


def _unlike(match: Match | None, placed: str | None) -> str:
    """What the matchers hold against an asset that was placed; empty where they agree that it is this."""
    chosen = next((c for c in match.candidates if c.asset_id == placed), None) if match else None
    if chosen is None:
        return "it is none of the matcher's candidates" if match and placed and match.candidates else ""
    poor = [NAMES.get(name, name) for name, score in chosen.scores.items() if score < HALF]
    listed = " and ".join([", ".join(poor[:-1]), poor[-1]] if len(poor) > 1 else poor)
    if poor:
        return f"{listed} agree{'' if len(poor) > 1 else 's'} by less than half ({chosen.score:.0%} in all)"
    return f"{_spoken(chosen.asset_id)} scores {chosen.score:.0%}" if chosen.score < ALIKE else ""
