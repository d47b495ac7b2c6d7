"""How well each object of the twin agrees with the photograph, as the pages want it."""

from typing import Any

from pipeline.project import Project
from pipeline.scene.fidelity import compare


def fits(project: Project) -> dict[int, dict[str, Any]]:
    """How well each object of the twin agrees with the photograph, by segment id."""
    scene = project.scene()
    if scene is None:
        return {}
    return {
        one.segment_id: {
            "iou": one.mask_iou,
            "depth_error": one.depth_error,
            "verdict": one.verdict,
            "short": _short(one.verdict, one.name),
            "ok": one.mask_iou >= 0.6,
        }
        for one in compare(project.frame, project.segments() or (), scene)
    }


def _short(verdict: str, name: str) -> str:
    """A verdict without what is told beside it: the name before it, the figures behind it."""
    return (
        verdict.removeprefix(f"{name} ").partition(": ")[0]
        if "outline" in verdict
        else verdict.removeprefix(f"{name} ")
    )
