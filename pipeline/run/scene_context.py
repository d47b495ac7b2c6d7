"""What a model is shown of a scene: the photograph with numbered objects, and a description of each object."""

from collections.abc import Mapping

import numpy as np

from pipeline.assets.asset_captions import KIND as DESCRIBE_ASSET
from pipeline.assets.asset_descriptions import kept_descriptions
from pipeline.models import Model, has_language, has_vision, source_of
from pipeline.models.images import set_of_marks
from pipeline.models.stage_model import SceneContext
from pipeline.project import Project
from pipeline.run.services import Services
from pipeline.store import digest


def scene_context(project: Project, services: Services) -> SceneContext:
    """Return what the model is shown of the scene; the assets' descriptions only if it understands free text."""
    model, library = services.model, services.library
    pictures, key = numbered_photograph(project, model)
    described = {}
    if has_language(model):
        described = {asset.id: asset.caption or asset.name for asset in library}
        described |= kept_descriptions(library, source_of(model, DESCRIBE_ASSET), services.asset_descriptions)
    return SceneContext(object_notes(project, bool(pictures), described), pictures, key)


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


def object_notes(project: Project, marked: bool, described: Mapping[str, str]) -> dict[str, str]:
    """Return a note on each object by name: number in the photograph, description, the asset that stands there with its
    description, and which other one was chosen and does not.

    `described` are descriptions of assets by id; the id of an asset without one stands alone.
    """
    matched = {m.segment_id: m for m in project.matches() or ()}
    captions = {d.segment_id: d.caption for d in project.descriptions() or ()}
    mark, scene = "(mark {}) " if marked else "", project.scene()
    notes = {}
    for placement in scene.placements if scene else ():
        asset, match = placement.asset_id or "", matched.get(placement.segment_id)
        if text := described.get(asset, ""):
            asset = f"[library asset {asset}: {text}]"
        note = f"{mark.format(placement.segment_id)}{captions.get(placement.segment_id, '')} {asset}"
        not_there = placement.overruled or (match.dissent if match else "")
        notes[placement.name] = f"{note.strip()} (not here: {not_there})" if not_there else note.strip()
    return notes
