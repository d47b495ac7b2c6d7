"""The table of fits on the scene page, and the labels of the twin's objects in the viewer."""

import math
from collections.abc import Mapping
from typing import Any

from pipeline.object_words import ObjectWords, object_words
from pipeline.scene import Placement, Scene
from pipeline.scene.articulation import moving_parts
from studio.records.object_records import object_records
from studio.sessions.session import Session
from studio.texts import t, translated
from studio.web.errors import RequestError

NOT_COMPARED = {"iou": None, "depth_error": None, "ok": True}


def fit_table(session: Session | None) -> dict[str, Any]:
    """Return FitTable's value: how each object of the twin agrees with the photograph, and notes about the twin."""
    not_compared = NOT_COMPARED | {"verdict": t("Not compared")}
    rows = [
        {"name": record["words"]}
        | {key: record[key] for key in ("id", "colour", "confidence")}
        | (record["fit"] or not_compared)
        for record in object_records(session)
        if record.get("placed")
    ]
    scene = session.cache.get("scene", "scene.json", session.project.scene) if session else None
    words = object_words(session.project) if session else ObjectWords()
    return {
        "rows": rows,
        "notes": [note for p in scene.placements for note in _notes(p, words.of(p.name))] + [_light_note(scene)]
        if scene
        else [],
        "waiting": translated(words.in_words(session.project.error("scene"))) if session else "",
        "walls": _walls(session, scene) if session and scene else None,
    }


def keep_walls(session: Session, message: Mapping[str, Any]) -> None:
    """Put the walls of the bin into the twin, or leave them out: {value}. Raises RequestError."""
    if not isinstance(value := message.get("value"), bool):
        raise RequestError("Say whether the twin has the walls of the bin.")
    session.decisions.record("walls", value=value)


def _walls(session: Session, scene: Scene) -> dict[str, Any] | None:
    """Return what FitTable says of the walls of the bin; None if there is none."""
    heights = [wall.height for wall in scene.walls]
    if heights:
        note = t("The objects stand in a bin: {count} walls up to {height} cm high were found around its floor.",
                 count=len(heights), height=round(100 * max(heights)))  # fmt: skip
        return {"note": note, "kept": True, "change": t("Leave the walls out")}
    if session.project.has_walls:
        return None
    return {"note": t("The walls of the bin are left out."), "kept": False, "change": t("Put the walls back")}


def viewer_labels(session: Session) -> dict[str, Any]:
    """Return {palette, names, parts}: each object's colour and what it is called, and its moving parts by joint."""
    scene = session.cache.get("scene", "scene.json", session.project.scene)
    articulated = [placement for placement in scene.placements if placement.joints] if scene else []
    objects = [record for record in object_records(session) if record["is_object"]]
    return {
        "palette": {record["name"]: record["colour"] for record in objects},
        "names": {record["name"]: record["words"] for record in objects},
        "parts": {p.name: {part.joint: part.name for part in moving_parts(p)} for p in articulated},
    }


def _light_note(scene: Scene) -> str:
    if scene.light is None:
        return t("Light: default direction. The photograph does not show clearly where its light comes from.")
    return t(
        "Light: direction estimated from shading and shadows (± {angle}°).",
        angle=max(5, round(math.degrees(scene.light.spread))),
    )


def _notes(placement: Placement, name: str) -> list[str]:
    notes = []
    if placement.foot:
        notes.append(t("{name} would topple; a flat foot was added.", name=name))
    if placement.prop:
        notes.append(
            t(
                "No support found under {name}; a fixed block holds it up. "
                "Add a mask for its support, or split a mask.",
                name=name,
            )
        )
    return notes
