"""How well each object of the twin agrees with the photograph: one source of these figures for all pages."""

from typing import TYPE_CHECKING, Any

from pipeline.scene.fidelity import ObjectFidelity
from pipeline.scene.placement import SceneError
from pipeline.scene.preview.pose_preview import PosePreview

if TYPE_CHECKING:
    from studio.sessions.session import Session


def pose_preview(session: "Session") -> PosePreview:
    """Return a preview of the twin in which single objects can be moved. Raises SceneError if there is no twin."""

    def open_preview() -> PosePreview:
        scene = session.project.scene()
        if scene is None:
            raise SceneError("There is no twin yet; wait until the scene is done.")
        return PosePreview(session.project.frame, scene)

    return session.cache.get("pose preview", "scene.json", open_preview)


def fidelities(session: "Session") -> dict[int, ObjectFidelity]:
    """Return the fidelity of each object of the twin that has a mask, by segment id. Raises SceneError."""

    def compute() -> dict[int, ObjectFidelity]:
        preview, segments = pose_preview(session), {s.id: s for s in session.project.segments() or ()}
        return {
            p.segment_id: preview.fidelity_at(segments[p.segment_id], p.world_from_object, p.scale)
            for p in preview.scene.placements
            if p.segment_id in segments
        }

    return session.cache.get("fidelities", "scene.json", compute)


def compute_fits(session: "Session") -> dict[int, dict[str, Any]]:
    """Return {iou, depth_error, verdict, short, agreement, ok} of each object by segment id. Raises SceneError."""
    return {
        id: {
            "iou": fidelity.mask_iou,
            "depth_error": fidelity.depth_error,
            "verdict": fidelity.verdict,
            "short": _short(fidelity.verdict, fidelity.name),
            "agreement": fidelity.agreement,
            "ok": fidelity.agreement == "good",
        }
        for id, fidelity in fidelities(session).items()
    }


def known_fits(session: "Session") -> dict[int, dict[str, Any]]:
    """Return the fits; until those of a new twin have been computed in the background, those of the one before."""
    if session.cache.stamp("scene.json") == "0":
        return {}
    return session.cache.get_later("fits", "scene.json", lambda: compute_fits(session)) or {}


def _short(verdict: str, name: str) -> str:
    """Return a verdict without the name before it and the figures after it, which are shown beside it."""
    verdict = verdict.removeprefix(f"{name} ")
    return verdict.partition(": ")[0] if "outline" in verdict else verdict
