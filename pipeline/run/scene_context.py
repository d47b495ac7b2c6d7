"""What a model is shown of a scene: the photograph with numbered objects, and a description of each object."""

import numpy as np

from pipeline.assets.library import Library
from pipeline.models import Model, has_language, has_vision
from pipeline.models.images import set_of_marks
from pipeline.models.stage_model import SceneContext
from pipeline.project import Project
from pipeline.store import digest


def scene_context(project: Project, model: Model, library: Library) -> SceneContext:
    """Return what this model is shown of the scene; the assets' descriptions only if it understands free text."""
    pictures, key = numbered_photograph(project, model)
    return SceneContext(object_notes(project, bool(pictures), library if has_language(model) else None), pictures, key)


def numbered_photograph(project: Project, model: Model) -> tuple[tuple[np.ndarray, ...], str]:
    """Return the photograph (H, W, 3) with the number of each object on it, and a hash of its content.

    Empty for a model without vision.
    """
    if not has_vision(model):
        return (), ""
    objects = {one.segment_id for one in project.descriptions() or () if one.is_object}
    masks = {one.id: one.mask for one in project.segments() or () if one.id in objects}
    key = digest(project.frame.rgb, [[id, int(mask.sum())] for id, mask in masks.items()])
    return (set_of_marks(project.frame.rgb, masks),), key


def object_notes(project: Project, marked: bool, library: Library | None = None) -> dict[str, str]:
    """Return a note on each object by name: number in the photograph, description, matched asset and its description.

    Without a `library` the asset's id stands alone.
    """
    matched = {m.segment_id: m.asset_id or "" for m in project.matches() or ()}
    captions = {d.segment_id: d.caption for d in project.descriptions() or ()}
    described = {asset.id: asset.caption or asset.name for asset in library or ()}
    mark, scene = "(mark {}) " if marked else "", project.scene()
    notes = {}
    for placement in scene.placements if scene else ():
        asset = matched.get(placement.segment_id, "")
        if text := described.get(asset, ""):
            asset = f"[library asset {asset}: {text}]"
        note = f"{mark.format(placement.segment_id)}{captions.get(placement.segment_id, '')} {asset}"
        notes[placement.name] = note.strip()
    return notes
