"""What was seen <-> what we own."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from pipeline.assets import Asset, AssetError, Library
from pipeline.assets.features import PIXELS, UPS, Features, Look, describe_pictures
from pipeline.assets.prints import agreeing_points, keypoints, printed
from pipeline.assets.views import MARGIN
from pipeline.description import Description
from pipeline.frame import Frame, Support
from pipeline.segmentation import Segment

SMALLEST_SCALE, LARGEST_SCALE = 0.8, 1.25
"""How far an asset may be scaled: more than that, and it is another thing."""
KEPT = 8
"""Candidates shown."""
ENOUGH = 0.7
"""Score from which the best candidate is taken, its lead over the next counted in part."""
PROOF = 12
"""Points of a print that lie alike in crop and view: so many have never been seen to be wrong (FACTS)."""
LOOKED_AT = 3
"""Candidates whose print is looked at closely: it takes a tenth of a second each."""
WEIGHTS = {"size": 1.0, "outline": 3.0, "relief": 2.0, "colour": 1.0, "appearance": 0.5}
PLAIN = 0.45
"""The least that the colours of a hollow asset count: a grey mug may stand for a blue one."""
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


@dataclass(frozen=True)
class Candidate:
    """One asset that a segment might be."""

    asset_id: str
    score: float
    """In [0, 1], all matchers together."""
    scores: Mapping[str, float]
    """What each matcher said, in [0, 1]: "size", "shape", "colour", "appearance"."""
    reason: str
    """One sentence for a person."""
    scale: float = 1.0
    """Uniform factor that brings the asset to the measured size, within the limits allowed."""


@dataclass(frozen=True)
class Match:
    segment_id: int
    asset_id: str | None
    """None: nothing in the library fits, the object is reconstructed from the view."""
    scale: float
    reason: str
    candidates: tuple[Candidate, ...]
    """Best first; what the machine would have chosen stays visible whatever a person chose."""
    source: str = "measured"
    failure: str = ""
    """Why the model that was asked gave no answer, so that this is measured; empty where it did or nobody asked."""


def match(
    frame: Frame,
    support: Support,
    segment: Segment,
    description: Description,
    library: Library,
    features: Features | None = None,
) -> Match:
    """The asset that a segment shows, or none, with the best candidates. `features` are computed where not given."""
    features = Features.of(library) if features is None else features
    nothing = {
        "the library is empty": not features.ids,
        "no object": not description.is_object,
        "nothing is seen of it": not segment.mask.any(),
    }
    for why, holds in nothing.items():
        if holds:
            return Match(segment.id, None, 1.0, why, ())
    seen = sight(frame, support, segment, description)
    best = _best_views(seen, features, library, description.attributes.shape)
    points = keypoints(*_crop(frame, segment))
    found = []
    looked_at = 0
    for rank, (view, score, evidence) in enumerate(best):
        asset, alike = library[features.ids[features.owner[view]]], 0
        if rank < 3 * LOOKED_AT and looked_at < LOOKED_AT and printed(features.look.take(np.array([view])))[0]:
            looked_at += 1
            alike = _print_agrees(asset, points, seen, features, view)
        found.append((asset, score, evidence, alike))
    made = (_candidate(asset, score, evidence, alike, description) for asset, score, evidence, alike in found)
    candidates = sorted(made, key=lambda candidate: -candidate.score)[:KEPT]
    kind = {asset.id: asset.category if asset.category in HOLLOW else asset.id for asset, *_ in found}
    return _decide(segment.id, tuple(candidates), {asset.id: alike for asset, *_, alike in found}, kind)


def match_all(
    frame: Frame,
    support: Support,
    segments: Sequence[Segment],
    descriptions: Sequence[Description],
    library: Library,
    features: Features | None = None,
) -> Iterator[Match]:
    """One match for each segment that has a description, in the segments' order."""
    features = Features.of(library) if features is None else features
    described = {description.segment_id: description for description in descriptions}
    for segment in segments:
        if segment.id in described:
            yield match(frame, support, segment, described[segment.id], library, features)


def choose(match: Match, asset_id: str | None, scale: float | None = None) -> Match:
    """The same match as a person decided it; what the machine said stays in the candidates."""
    known = {candidate.asset_id: candidate.scale for candidate in match.candidates}
    if scale is None:
        scale = known.get(asset_id, 1.0) if asset_id else 1.0
    return Match(match.segment_id, asset_id, scale, "chosen by a person", match.candidates, "human")


def _best_views(
    seen: "Sight", features: Features, library: Library, shape: str
) -> list[tuple[int, float, dict[str, float]]]:
    """Each asset's best view with its score and evidence, best asset first, twice as many as are kept."""
    near = np.flatnonzero(np.abs(features.elevation - seen.elevation) <= _reach(features, seen.elevation))
    evidence = compare(seen.look, features.look.take(near))
    open_ = np.array([library[id].category in HOLLOW for id in features.ids])[features.owner[near]]
    for colours in (evidence.colour, evidence.appearance):
        colours[open_] = np.maximum(colours[open_], PLAIN)
    total = sum(WEIGHTS.values())
    parts = [weight * np.log(np.maximum(getattr(evidence, name), 1e-6)) for name, weight in WEIGHTS.items()]
    score = np.exp(sum(parts) / total) * _rests_so(features, near)
    conflict = np.array([library[id].category in AGAINST.get(shape, ()) for id in features.ids])
    score *= np.where(conflict[features.owner[near]], 0.93, 1.0)
    best = [
        owner[np.argmax(score[owner])]
        for k in range(len(features.ids))
        if len(owner := np.flatnonzero(features.owner[near] == k))
    ]
    best = sorted(best, key=lambda view: -score[view])[: 2 * KEPT]
    names = (*WEIGHTS, "scale")
    return [(int(near[v]), float(score[v]), {n: float(getattr(evidence, n)[v]) for n in names}) for v in best]


def _reach(features: Features, elevation: float) -> float:
    """How far off a view's elevation may be: to the nearest there is, and a little more."""
    return float(np.abs(np.unique(features.elevation) - elevation).min()) + 9


def _rests_so(features: Features, views: np.ndarray) -> np.ndarray:
    """Things rarely lie otherwise than in their file, and hardly ever stand on end: a factor for each view."""
    tall = features.look.extents[views, 1] > 1.4 * features.look.extents[views, 0]
    return np.where(features.up[views] == 0, 1.0, np.where(tall, 0.87, 0.95))


def _crop(frame: Frame, segment: Segment) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = np.flatnonzero(segment.mask.any(axis=1)), np.flatnonzero(segment.mask.any(axis=0))
    part = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    return frame.rgb[part], segment.mask[part]


def _print_agrees(asset: Asset, points: Any, seen: "Sight", features: Features, view: int) -> int:
    try:
        return agreeing_points(asset, points, seen.elevation, features.azimuth[view], UPS[features.up[view]])
    except AssetError:
        return 0


def _candidate(
    asset: Asset, score: float, evidence: dict[str, float], alike: int, description: Description
) -> Candidate:
    shape = (evidence["outline"] ** 3 * evidence["relief"] ** 2) ** 0.2
    appearance = max(evidence["appearance"], 1 - np.exp(-alike / PROOF)) if alike >= PROOF else evidence["appearance"]
    score = 1 - (1 - score) * np.exp(-alike / 30) if alike >= PROOF else score
    scores = {"size": evidence["size"], "shape": shape, "colour": evidence["colour"], "appearance": appearance}
    scale = float(np.clip(evidence["scale"], SMALLEST_SCALE, LARGEST_SCALE))
    reason = _reason(evidence, shape, alike, description.attributes.colour)
    return Candidate(
        asset.id, round(float(score), 4), {k: round(float(v), 4) for k, v in scores.items()}, reason, scale
    )


def _reason(evidence: dict[str, float], shape: float, alike: int, colour: str) -> str:
    """What the numbers say, in words."""
    off = evidence["scale"] - 1
    size = "same size" if abs(off) < 0.03 else f"{abs(off):.0%} {'larger' if off > 0 else 'smaller'} than the asset"
    words = {"outline": "outline", "relief": "relief"}
    form = [
        f"{word} {'agrees' if evidence[key] > good else 'differs'}"
        for (key, word), good in zip(words.items(), (0.8, 0.5), strict=True)
    ]
    tint = (
        f"same {colour}"
        if evidence["colour"] > 0.6
        else "colours alike"
        if evidence["colour"] > 0.4
        else "other colours"
    )
    print_ = [f"{alike} points of the print agree"] if alike >= PROOF else []
    return ", ".join([size, *form, tint, *print_])


def _decide(
    segment_id: int, candidates: tuple[Candidate, ...], alike: Mapping[str, int], kind: Mapping[str, str]
) -> Match:
    """The first candidate, where its print proves it, or its score and its lead over other kinds are enough."""
    first = candidates[0]
    rivals = [c.score for c in candidates if kind[c.asset_id] != kind[first.asset_id]]
    lead = min(first.score - max(rivals, default=0), 0.15)
    proved = alike.get(first.asset_id, 0) >= PROOF and first.score > 0.5
    if proved or first.score + 0.4 * lead >= ENOUGH:
        return Match(segment_id, first.asset_id, first.scale, first.reason, candidates)
    return Match(segment_id, None, 1.0, f"nothing fits; nearest {first.asset_id}: {first.reason}", candidates)


@dataclass(frozen=True, eq=False)
class Sight:
    """A segment as it compares with views of assets."""

    look: Look
    """Turned so that up is up."""
    elevation: float
    """Of the camera above it, in degrees."""


def sight(frame: Frame, support: Support, segment: Segment, description: Description) -> Sight:
    """A segment's crop, upright, filled, and its metric width and height as seen at its distance."""
    camera_from_world = np.linalg.inv(support.world_from_camera)
    known = frame.depth[segment.mask & (frame.depth > 0)]
    middle = camera_from_world[:3, :3] @ description.attributes.centre + camera_from_world[:3, 3]
    distance = float(np.median(known)) if len(known) > 30 else float(middle[2])
    v, u = np.nonzero(segment.mask)
    k = frame.intrinsics
    ray = np.array([(u.mean() - k.cx) / k.fx, (v.mean() - k.cy) / k.fy, 1.0])
    up = camera_from_world[:3, 2]
    elevation = np.rad2deg(np.arcsin(np.clip(-(ray @ up) / np.linalg.norm(ray), -1, 1)))
    upwards = (up - ray * up[2])[:2] * [k.fx, k.fy]  # how the pixel moves as the point moves up
    turn = np.arctan2(upwards[0], -upwards[1])
    cos, sin = np.cos(turn), np.sin(turn)
    upright = np.array([[cos, sin], [-sin, cos]])
    turned = np.stack([u, v], 1) @ upright.T
    low, high = turned.min(axis=0) - 0.5, turned.max(axis=0) + 0.5
    side = MARGIN * (high - low).max()
    corner = (low + high - side) / 2
    factor = PIXELS / side
    warp = np.c_[upright * factor, -corner * factor - 0.5 + 0.5 * factor]
    blur = frame.rgb if factor > 0.7 else cv2.blur(frame.rgb, (int(np.ceil(1 / factor)),) * 2)
    picture = cv2.warpAffine(blur, warp, (PIXELS, PIXELS))
    mask = cv2.warpAffine(segment.mask.astype(np.float32), warp, (PIXELS, PIXELS)) > 0.5
    away = frame.points @ (ray / np.linalg.norm(ray)).astype(np.float32)
    away = cv2.warpAffine(away, warp, (PIXELS, PIXELS), flags=cv2.INTER_NEAREST, borderValue=np.nan)
    extents = (high - low) * distance / np.array([k.fx, k.fy])
    return Sight(describe_pictures(picture[None], mask[None], away[None], extents[None]), float(elevation))


@dataclass(frozen=True, eq=False)
class Evidence:
    """What speaks for each view of each asset, each of shape (V,), in [0, 1]."""

    size: np.ndarray
    outline: np.ndarray
    relief: np.ndarray
    colour: np.ndarray
    appearance: np.ndarray
    scale: np.ndarray
    """The factor that brings the view to the seen size."""


def compare(seen: Look, views: Look) -> Evidence:
    """A segment against every view."""
    scale = np.sqrt(np.prod(seen.extents[0]) / np.prod(views.extents, axis=1))
    flat = views.mask.reshape(len(views.mask), -1).astype(np.float32)
    one = seen.mask[0].ravel().astype(np.float32)
    both = flat @ one
    outline = both / np.maximum(flat.sum(axis=1) + one.sum() - both, 1)
    colour = views.histogram.astype(np.float32) @ seen.histogram[0].astype(np.float32)
    return Evidence(
        np.exp(-0.5 * (np.log(scale) / 0.2) ** 2), outline, relief_agrees(seen, views, scale), colour,
        same_places(seen, views), scale
    )  # fmt: skip


def relief_agrees(seen: Look, views: Look, scale: np.ndarray) -> np.ndarray:
    """How well the depths agree, once both are moved to the same distance; depth bleeds, so far is as far as near."""
    factor = np.clip(scale, SMALLEST_SCALE, LARGEST_SCALE)[:, None, None]
    difference = (seen.relief[0].astype(np.float32) - views.relief * factor).reshape(len(views.relief), -1)
    known = np.isfinite(difference)
    count = np.maximum(known.sum(axis=1), 1)
    filled = np.where(known, difference, 0)
    middle = np.sort(np.where(known, difference, np.inf), axis=1)[np.arange(len(count)), count // 2]
    middle = np.where(np.isfinite(middle), middle, 0)
    reach = 0.15 * np.sqrt(np.prod(seen.extents[0]))
    off = np.where(known, np.minimum(np.abs(filled - middle[:, None]), 2 * reach), 0).sum(axis=1) / count
    return np.where(count > 5, np.exp(-off / reach), 0.5)


def same_places(seen: Look, views: Look) -> np.ndarray:
    """How well colours agree place by place, the light's strength left out in part."""
    difference = views.thumb.astype(np.float32) - seen.thumb[0].astype(np.float32)
    shared = np.isfinite(difference[..., 0])
    difference = np.where(shared[..., None], difference, 0)
    count = np.maximum(shared.sum(axis=(1, 2)), 1)
    light = difference[..., 0].sum(axis=(1, 2)) / count
    difference[..., 0] = 0.5 * np.where(shared, difference[..., 0] - 0.7 * light[:, None, None], 0)
    distance = np.linalg.norm(difference, axis=-1).sum(axis=(1, 2)) / count
    return np.exp(-distance / 25)


def to_json(matches: Sequence[Match]) -> list[dict[str, Any]]:
    """As matches.json has it, with each candidate's scores, reason and scale."""
    return [
        {
            "segment_id": match.segment_id,
            "asset_id": match.asset_id,
            "scale": match.scale,
            "reason": match.reason,
            "candidates": [
                {
                    "asset_id": c.asset_id,
                    "score": c.score,
                    "scores": dict(c.scores),
                    "reason": c.reason,
                    "scale": c.scale,
                }
                for c in match.candidates
            ],
            "source": match.source,
            "failure": match.failure,
        }
        for match in matches
    ]


def from_json(rows: Sequence[Mapping[str, Any]]) -> tuple[Match, ...]:
    """Back again; candidates may hold no more than the contract asks: an id and a score."""
    return tuple(
        Match(
            int(row["segment_id"]),
            row["asset_id"],
            float(row["scale"]),
            str(row["reason"]),
            tuple(
                Candidate(
                    c["asset_id"], float(c["score"]), c.get("scores", {}), c.get("reason", ""), float(c.get("scale", 1))
                )
                for c in row["candidates"]
            ),
            str(row.get("source", "measured")),
            str(row.get("failure", "")),
        )
        for row in rows
    )


def write(matches: Sequence[Match], folder: Path) -> Path:
    """matches.json in a project folder."""
    file = folder / "matches.json"
    file.write_text(json.dumps(to_json(matches), indent=1) + "\n", encoding="utf-8")
    return file


def read(folder: Path) -> tuple[Match, ...]:
    return from_json(json.loads((folder / "matches.json").read_text(encoding="utf-8")))
