"""Name the objects of the twin: by their colour and their asset, or as they were measured."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from pipeline.assets import Asset, Library
from pipeline.description import Description, lasting_names, name_from_measurements, shape_noun, unique_name
from pipeline.description.colour_names import COLOUR_WORDS
from pipeline.matching import Match
from pipeline.matching.measured import MIN_PROBABILITY
from pipeline.scene.overrides import DecisionRecord
from pipeline.scene.placement import Placement, Scene

DECISION_KINDS = ("rename", "choose_asset")
"""Kinds of decisions that change names."""
MIN_COLOUR = 0.1
"""Likeness of colours below which a solid object is not called by its asset: a brown lid "orange". A mug or a bowl is
one in any colour."""
FILLER_WORDS = {"small", "medium", "large", "big", "bigger", "my", "our", "the", "a", "an"}
"""Words of an asset's name that do not say what it is."""


def name_objects(
    scene: Scene,
    descriptions: Iterable[Description],
    matches: Iterable[Match],
    library: Library,
    decisions: Sequence[DecisionRecord] = (),
    former: Mapping[int, str] = MappingProxyType({}),
) -> Scene:
    """Return the scene with a unique name for every object; `decisions` are those of DECISION_KINDS, in order.

    Names from a person or a model stay, and so does the measured name of a reconstructed object, unless that is a bowl
    and the reconstruction is solid. No object gets the
    measured name of another, so that every name, earlier ones included, refers to one object. `former` are the names
    that the objects had, by segment id: a name made of the same words keeps its number, whatever becomes of the others.
    """
    described, matched = {d.segment_id: d for d in descriptions}, {m.segment_id: m for m in matches}
    renamed = {d.data["id"] for d in decisions if d.kind == "rename"}
    measured = {d.segment_id: d.name for d in described.values()}
    from_asset = {
        p.segment_id: name
        for p in scene.placements
        if p.segment_id in described and p.segment_id not in renamed
        if (name := _asset_name(described[p.segment_id], matched.get(p.segment_id), p, library)) is not None
    }
    lasting = {
        id: name
        for id, name in lasting_names(from_asset, former).items()
        if all(name != other for one, other in measured.items() if one != id)
    }
    taken: set[str] = {*lasting.values(), *(shelf.name for shelf in scene.shelves)}
    placements = []
    for p in scene.placements:
        id = p.segment_id
        if id in described:
            others = {name for one, name in measured.items() if one != id}
            name = unique_name(from_asset[id], taken | others) if id in from_asset else described[id].name
            p = replace(p, name=lasting.get(id, name))
        taken.add(p.name)
        placements.append(p)
    earlier = _earlier_names(described, matched, library, decisions)
    return replace(scene, placements=_with_aliases(placements, earlier, measured))


def current_names(placements: Iterable[Placement]) -> dict[str, str]:
    """Return the current name of each object, by every alias."""
    return {alias: p.name for p in placements for alias in p.aliases}


def use_current_names(text: str, current: Mapping[str, str]) -> str:
    """Return the text with every alias in it replaced by the current name.

    What a current name says in words stays, though an alias may be one of them: "orange" in "the orange sphere".
    """
    if not current:
        return text
    said = sorted({name.replace("_", " ") for name in current.values()} - current.keys(), key=len, reverse=True)
    found = "|".join(map(re.escape, (*said, *current)))
    return re.sub(rf"\b({found})\b", lambda match: current.get(match[0], match[0]), text)


def colour_and_kind(colour: str, asset: Asset, only_kind: bool = False) -> str:
    """Return a name such as "white_mug": the measured colour, unless the asset's name has it, then the asset's name.

    If that name has another colour, or with `only_kind`, the asset's category is used instead of its name.
    """
    words = [word for word in _words(asset.name) if word not in FILLER_WORDS] or _words(asset.name)
    colours = {COLOUR_WORDS[word] for word in words if word in COLOUR_WORDS}
    another_colour = bool(colours) and colour not in colours and words[-1] not in COLOUR_WORDS
    # An asset's longer name is a title; its category is used instead
    if only_kind or len(words) > 4 or another_colour:
        words, colours = _words(asset.category) or words[-1:], set()
    return "_".join(words if colours else [colour, *words])[:40].strip("_")


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _asset_name(description: Description, match: Match | None, p: Placement, library: Library) -> str | None:
    """Return the name that an object gets from its asset; None if it keeps the name of its description."""
    if _is_misnamed_bowl(description, p):
        return f"{description.attributes.colour}_{'object' if p.category == 'thing' else p.category}"
    if p.asset_id is None or p.asset_id not in library or description.source not in ("measured", "human"):
        return None
    candidate = next((c for c in match.candidates if c.asset_id == p.asset_id), None) if match else None
    if candidate is None or match is None or match.source != "measured":
        return colour_and_kind(description.attributes.colour, library[p.asset_id])
    if not p.container and candidate.scores.get("colour", 1.0) < MIN_COLOUR:
        return None
    # a poor score is sure of the kind, not of the asset
    return colour_and_kind(description.attributes.colour, library[p.asset_id], candidate.score < MIN_PROBABILITY)


def _is_misnamed_bowl(description: Description, p: Placement) -> bool:
    """Whether an object that measures as a bowl is a reconstruction without a hollow, such as a warped notebook."""
    is_reconstruction = p.asset_id is None and bool(p.category) and not p.container
    return is_reconstruction and description.source == "measured" and description.attributes.shape == "bowl"


def _earlier_names(
    described: Mapping[int, Description],
    matched: Mapping[int, Match],
    library: Library,
    decisions: Sequence[DecisionRecord],
) -> dict[int, list[str]]:
    """Return the names that each object had, or had with another asset, by segment id."""
    assets = {id: [m.asset_id, *(m.machine or ())[:1]] for id, m in matched.items()}
    for decision in decisions:
        if decision.kind == "choose_asset":
            assets.setdefault(decision.data["id"], []).append(decision.data["asset_id"])
    names = {
        id: [d.name, name_from_measurements(d.attributes), f"{d.attributes.colour}_{shape_noun(d.attributes)}"]
        for id, d in described.items()
    }
    for id, d in described.items():
        names[id] += [
            colour_and_kind(d.attributes.colour, library[a]) for a in assets.get(id, ()) if a and a in library
        ]
    for decision in decisions:
        if decision.kind == "rename" and decision.data["id"] in names:
            names[decision.data["id"]].append("_".join(_words(decision.data["name"])))
    return names


def _with_aliases(
    placements: Sequence[Placement], earlier: Mapping[int, Sequence[str]], measured: Mapping[int, str]
) -> tuple[Placement, ...]:
    """Return the placements with those of their earlier names that refer to no other object."""
    names = {p.name for p in placements}

    def is_alias(name: str, id: int) -> bool:
        others = {other for other, earlier_names in earlier.items() if other != id and name in earlier_names}
        return name not in names and (measured.get(id) == name or not others)

    return tuple(
        replace(p, aliases=tuple(dict.fromkeys(n for n in earlier.get(p.segment_id, ()) if is_alias(n, p.segment_id))))
        for p in placements
    )
