"""What each object of the twin is called: its colour and what its asset says it is, or else as it was measured."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pipeline.assets import Asset, Library
from pipeline.description import Description, measured_name, unused
from pipeline.matching import Match
from pipeline.matching.matches import ENOUGH
from pipeline.models.rules.words import COLOURS
from pipeline.scene.given import Decided
from pipeline.scene.placement import Placement, Scene

KINDS = ("rename", "choose_asset")
"""Decisions that objects are called by."""
WHICH = {"small", "medium", "large", "big", "bigger", "my", "our", "the", "a", "an"}
"""Words that tell one asset from another and say nothing of what it is."""
MOST_WORDS = 4
"""A longer name is a title; then the kind says it better."""


def named(
    scene: Scene,
    descriptions: Iterable[Description],
    matches: Iterable[Match],
    library: Library,
    decisions: Sequence[Decided] = (),
) -> Scene:
    """The scene with every object called what stands there, uniquely; `decisions` are those of KINDS, in order.

    A person's name and a model's stay; so does the measured one of what was made from the view. No object is called
    what another was measured as: so that every name, earlier ones included, means one object.
    """
    described, matched = {d.segment_id: d for d in descriptions}, {m.segment_id: m for m in matches}
    given = {d.data["id"] for d in decisions if d.kind == "rename"}
    measured = {d.segment_id: d.name for d in described.values()}
    taken: set[str] = set()
    placements = []
    for p in scene.placements:
        mine = described.get(p.segment_id)
        if mine is not None:
            own = None if p.segment_id in given else _asset_name(mine, matched.get(p.segment_id), p, library)
            others = {name for id, name in measured.items() if id != p.segment_id}
            p = replace(p, name=mine.name if own is None else unused(own, taken | others))
        taken.add(p.name)
        placements.append(p)
    earlier = _earlier(described, matched, library, decisions)
    return replace(scene, placements=_also(placements, earlier, measured))


def present_names(placements: Iterable[Placement]) -> dict[str, str]:
    """The name each object has now, by every other it went by."""
    return {other: p.name for p in placements for other in p.also}


def in_present_names(text: str, now: Mapping[str, str]) -> str:
    """The text with every earlier name in it replaced by the one that is used now."""
    if not now:
        return text
    return re.sub(rf"\b({'|'.join(map(re.escape, now))})\b", lambda found: now[found[0]], text)


def colour_and_kind(colour: str, asset: Asset, only_kind: bool = False) -> str:
    """ "white_mug": the measured colour before what the asset is; without it where the asset's name tells it.

    Where that name tells another colour only the kind is believed, and so where `only_kind` is.
    """
    words = [word for word in _words(asset.name) if word not in WHICH] or _words(asset.name)
    told = {COLOURS[word] for word in words if word in COLOURS}
    if only_kind or len(words) > MOST_WORDS or (told and colour not in told and words[-1] not in COLOURS):
        words, told = _words(asset.category) or words[-1:], set()
    return "_".join(words if told else [colour, *words])[:40].strip("_")


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _asset_name(mine: Description, match: Match | None, p: Placement, library: Library) -> str | None:
    """What the asset that stands for it makes of its name; None where the name that it has stays."""
    if p.asset_id is None or p.asset_id not in library or mine.source not in ("measured", "human"):
        return None
    score = next((c.score for c in match.candidates if c.asset_id == p.asset_id), 1.0) if match else 1.0
    some = match is not None and match.source == "measured" and score < ENOUGH  # sure of the kind, not of which
    return colour_and_kind(mine.attributes.colour, library[p.asset_id], some)


def _earlier(
    described: Mapping[int, Description],
    matched: Mapping[int, Match],
    library: Library,
    decisions: Sequence[Decided],
) -> dict[int, list[str]]:
    """Names that each object had, or would have with another asset that stood for it, by segment id."""
    assets = {id: [m.asset_id, *(m.machine or ())[:1]] for id, m in matched.items()}
    for one in decisions:
        if one.kind == "choose_asset":
            assets.setdefault(one.data["id"], []).append(one.data["asset_id"])
    names = {id: [d.name, measured_name(d.attributes)] for id, d in described.items()}
    for id, d in described.items():
        names[id] += [
            colour_and_kind(d.attributes.colour, library[a]) for a in assets.get(id, ()) if a and a in library
        ]
    for one in decisions:
        if one.kind == "rename" and one.data["id"] in names:
            names[one.data["id"]].append("_".join(_words(one.data["name"])))
    return names


def _also(
    placements: Sequence[Placement], earlier: Mapping[int, Sequence[str]], measured: Mapping[int, str]
) -> tuple[Placement, ...]:
    """With the other names that mean no other object."""
    names = {p.name for p in placements}

    def means(name: str, id: int) -> bool:
        others = {other for other, had in earlier.items() if other != id and name in had}
        return name not in names and (measured.get(id) == name or not others)

    return tuple(
        replace(p, also=tuple(dict.fromkeys(n for n in earlier.get(p.segment_id, ()) if means(n, p.segment_id))))
        for p in placements
    )
