"""The confidence in every object of a project's twin, measured and kept for the lists of projects."""

from collections.abc import Mapping
from contextlib import suppress

from pipeline.project import Project
from pipeline.project.confidence_record import save_confidences
from pipeline.scene.confidence import Confidence, object_confidences
from pipeline.scene.fidelity import ObjectFidelity
from pipeline.store import StoreError


def measure_confidences(
    project: Project, fidelities: Mapping[int, ObjectFidelity] | None = None
) -> tuple[Confidence, ...]:
    """Return the confidence in every object of the twin, and save it if this process writes the project.

    `fidelities` by segment id are quoted in the reasons.
    """
    scene = project.scene()
    if scene is None:
        return ()
    segments, matches = project.segments() or (), project.matches() or ()
    confidences = object_confidences(project.frame, segments, scene, matches, fidelities)
    if project.is_writer:
        with suppress(StoreError):  # it can be measured again
            save_confidences(project.folder, {one.segment_id: round(one.score, 3) for one in confidences})
    return confidences
