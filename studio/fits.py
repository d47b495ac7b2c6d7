"""How well each object of the twin agrees with the photograph: the one source of these figures for all pages."""

from typing import Any

from pipeline.scene.fidelity import Likeness
from pipeline.scene.placement import SceneError
from pipeline.scene.trial import Trial
from studio.replaying import Replaying


def trial(session: Replaying) -> Trial:
    """The twin as it stands, ready to try objects elsewhere. Raises SceneError."""

    def opened() -> Trial:
        scene = session.project.scene()
        if scene is None:
            raise SceneError("There is no twin yet; wait until the scene is done.")
        return Trial(session.project.frame, scene)

    return session.kept("trial", "scene.json", opened)


def likes(session: Replaying) -> dict[int, Likeness]:
    """How each object of the twin that has a mask agrees where it stands, by segment id."""

    def tried() -> dict[int, Likeness]:
        twin, segments = trial(session), {s.id: s for s in session.project.segments() or ()}
        return {
            p.segment_id: twin.like(segments[p.segment_id], p.world_from_object, p.scale)
            for p in twin.scene.placements
            if p.segment_id in segments
        }

    return session.kept("likes", "scene.json", tried)


def fits(session: Replaying) -> dict[int, dict[str, Any]]:
    """The same, as the pages want it."""
    return {
        id: {
            "iou": one.mask_iou,
            "depth_error": one.depth_error,
            "verdict": one.verdict,
            "short": _short(one.verdict, one.name),
            "ok": one.mask_iou >= 0.6,
        }
        for id, one in likes(session).items()
    }


def _short(verdict: str, name: str) -> str:
    """A verdict without what is told beside it: the name before it, the figures behind it."""
    return (
        verdict.removeprefix(f"{name} ").partition(": ")[0]
        if "outline" in verdict
        else verdict.removeprefix(f"{name} ")
    )
