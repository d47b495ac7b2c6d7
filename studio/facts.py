"""All that is known of each object, as the components want it: one plain record an object."""

import math
from typing import Any

from pipeline.assets.reconstruct import PROVENANCE
from pipeline.description import Description
from pipeline.matching import Candidate, Match, choose
from pipeline.project import safe_name
from pipeline.scene import Placement
from pipeline.scene.confidence import confidence
from pipeline.scene.given import KINDS, given_by
from pipeline.segmentation import Segment
from studio import in_force
from studio.alike import alike
from studio.belonging import belonging, parts
from studio.fits import likes
from studio.pictures import stamp
from studio.session import Session
from studio.theme import colour_of


def objects(session: Session | None) -> list[dict[str, Any]]:
    """Every segment, in the order of ids: what was measured of it, its match, its place, its fit.

    What a person decided is said at once; what follows from it, when it has been worked out.
    """
    if session is None:
        return []
    project = session.project
    segments = session.kept("segments", "segments/masks.png", project.segments) or ()
    described = {d.segment_id: d for d in session.kept("descriptions", "descriptions.json", project.descriptions) or ()}
    matched = {m.segment_id: m for m in session.kept("matches", "matches.json", project.matches) or ()}
    standing = {one.placement.segment_id: one for one in in_force.standing(session)}
    placed = {id: one.placement for id, one in standing.items()}
    verdicts = {d.data["id"]: not d.data["value"] for d in project.decided("not_object")}
    names = {d.data["id"]: safe_name(d.data["name"]) for d in project.decided("rename")}
    chosen = project.chosen_assets()
    made = {d.data["id"]: d.data.get("way") for d in project.decided("choose_asset", "make")}
    moved = {id for id, one in given_by(project.decided(*KINDS)).items() if one.fixed is not None}
    fits, trust = session.fits, _confidence(session)
    facts = []
    for segment in segments:
        id = segment.id
        one = _seen(session, segment, described.get(id))
        one["is_object"] = verdicts.get(id, one["is_object"])
        if id in names or (one["is_object"] and id in placed):
            one["name"] = names.get(id) or placed[id].name
        if one["is_object"] and id in matched:
            match = matched[id]
            one["match"] = _match(session, choose(match, chosen[id]) if id in chosen else match)
            one["known_as"] = _known_as(str(one["name"]), one["match"]["asset_name"])
        one["made"] = made.get(id)
        if one["is_object"] and id in placed:
            one["placed"] = _placed(placed[id]) | {"changed": standing[id].changed}
        one["moved"] = id in moved
        one["fit"] = fits.get(id)
        one["sure"] = _sure(one, trust.get(id))
        if warnings := one.get("warnings"):
            one |= {"mark": "!", "mark_says": " ".join(warnings)}
        facts.append(one)
    equal = alike(facts)
    facts = belonging(facts, parts(session))
    return [one | {"alike": equal.get(one["id"], [])} for one in facts]


def _sure(one: dict[str, Any], trust: dict[str, Any] | None) -> dict[str, Any] | None:
    """How sure it is, and of what: of a thing that is no asset and that no person chose to make, of its place only."""
    if trust is None or "placed" not in one:
        return None
    only_place = one["placed"]["asset_id"] is None and one.get("match", {}).get("source") != "human"
    return trust | {"of": "place" if only_place else ""}


def _confidence(session: Session) -> dict[int, dict[str, Any]]:
    """How sure each object of the twin is, by segment id; what was known last until it is worked out anew."""
    project = session.project

    def work() -> dict[int, dict[str, Any]]:
        scene = project.scene()
        if scene is None:
            return {}
        found = confidence(project.frame, project.segments() or (), scene, project.matches() or (), likes(session))
        return {c.segment_id: {"share": round(c.share, 3), "word": c.word, "reason": c.reason} for c in found}

    return session.later("confidence", "scene.json", work) or {}


def _seen(session: Session, segment: Segment, description: Description | None) -> dict[str, Any]:
    one: dict[str, Any] = {
        "id": segment.id,
        "name": f"object {segment.id}",
        "caption": "not described yet",
        "colour": colour_of(segment.id),
        "is_object": True,
        "source": segment.source,
        "crop": f"/project/{session.token}/crop/{segment.id}.jpg?{stamp(segment)}",
    }
    if description is None:
        return one
    measured = description.attributes
    return one | {
        "name": description.name,
        "caption": description.caption,
        "is_object": description.is_object,
        "source": description.source,
        "colour_name": measured.colour,
        "rgb": ",".join(str(int(c)) for c in measured.rgb),
        "shape": measured.shape,
        "size": [float(x) for x in measured.size],
        "confidence": float(description.confidence),
        "warnings": list(description.warnings),
    }


def _match(session: Session, match: Match) -> dict[str, Any]:
    return {
        "asset_id": match.asset_id,
        "asset_name": _asset_name(session, match.asset_id),
        "scale": float(match.scale),
        "reason": match.reason,
        "source": match.source,
        "asset": _about(session, match.asset_id),
        "machine": _machine(session, match),
        "candidates": [_candidate(session, one) for one in match.candidates],
    }


def _about(session: Session, id: str | None) -> dict[str, Any] | None:
    """Of the asset that was chosen: it may be none of the candidates."""
    return {"asset_id": id, "name": _asset_name(session, id), "image": _card(session, id)} if id else None


def _machine(session: Session, match: Match) -> dict[str, Any]:
    """What the machine chose, whatever a person chose after it."""
    id, source = match.machine or (match.asset_id, match.source)
    return {"asset_id": id, "name": _asset_name(session, id), "source": source}


def _known_as(name: str, asset: str) -> str:
    """The asset's name, where it says more than the object's own."""
    said = set(name.lower().split("_"))
    return "" if set(asset.lower().replace("_", " ").split()) <= said else asset.replace("_", " ")


def _candidate(session: Session, one: Candidate) -> dict[str, Any]:
    return {
        "asset_id": one.asset_id,
        "name": _asset_name(session, one.asset_id),
        "image": _card(session, one.asset_id),
        "score": float(one.score),
        "scores": {name: float(score) for name, score in one.scores.items()},
        "reason": one.reason,
    }


def _card(session: Session, id: str) -> str:
    return f"/project/{session.token}/card/{id}.png"


def _asset_name(session: Session, id: str | None) -> str:
    return session.services.library[id].name if id and id in session.services.library else id or ""


def _placed(placement: Placement) -> dict[str, Any]:
    w, x, y, z = (float(q) for q in placement.world_from_object.quat_wxyz)
    return {
        "pos": [float(p) for p in placement.world_from_object.pos],
        "quat_wxyz": [w, x, y, z],
        "yaw": math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)),
        "mass": float(placement.mass),
        "scale": float(placement.scale),
        "asset_id": placement.asset_id,
        "made": _made(placement),
    }


def _made(placement: Placement) -> dict[str, str] | None:
    """What was made from the view, and how much of it was seen: {as, says}; None of an asset."""
    start = f"{PROVENANCE} as "
    if placement.asset_id is not None or not placement.provenance.startswith(start):
        return None
    shape = placement.provenance.removeprefix(start).split(";")[0]
    return {"as": shape.removeprefix("a ").removeprefix("an "), "says": placement.provenance}
