"""A refit is kept only if the object agrees with the photograph no worse than where it stood before."""

from dataclasses import dataclass

from pipeline.object_words import object_words
from pipeline.project import Project
from pipeline.scene.fidelity import MIN_COST_CHANGE, ObjectFidelity
from pipeline.scene.placement import SceneError
from pipeline.scene.preview.pose_preview import PosePreview


@dataclass(frozen=True)
class Refit:
    """The object of a refit that is about to be computed, and how it agreed before."""

    segment_id: int
    before: ObjectFidelity


def pending_refit(project: Project) -> Refit | None:
    """Return the refit that a person decided on last, if the twin lacks it still; None for a reset, which is kept."""
    newest = project.next_undo
    if newest is None or newest.kind != "refit" or not {"pos", "free"} & newest.data.keys():
        return None
    before = _fidelity(project, newest.data["id"]) if project.stages()["scene"] == "stale" else None
    return Refit(newest.data["id"], before) if before else None


def undo_if_worse(project: Project, refit: Refit) -> str:
    """Undo a refit that made its object's agreement worse; return a sentence that says so, empty where it is kept.

    Raises ProjectError, StoreError.
    """
    newest, now = project.next_undo, _fidelity(project, refit.segment_id)
    is_newest = newest is not None and newest.kind == "refit" and newest.data["id"] == refit.segment_id
    if now is None or not is_newest or now.cost - refit.before.cost <= MIN_COST_CHANGE:
        return ""
    project.undo()
    name = object_words(project).of(now.name)
    return f"{name} was not fitted again: {_figures(now)} would agree, {_figures(refit.before)} did before"


def _figures(fidelity: ObjectFidelity) -> str:
    depth = "" if fidelity.depth_error is None else f" ({fidelity.depth_error * 100:.1f} cm off in depth)"
    return f"{fidelity.mask_iou:.0%} of the outline{depth}"


def _fidelity(project: Project, id: int) -> ObjectFidelity | None:
    scene, segment = project.scene(), next((one for one in project.segments() or () if one.id == id), None)
    if scene is None or segment is None:
        return None
    preview = PosePreview(project.frame, scene)
    try:
        placement = preview.placement_of(id)
    except SceneError:
        return None
    return preview.fidelity_at(segment, placement.world_from_object, placement.scale)
