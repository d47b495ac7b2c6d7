"""Any instant of a track becomes a project: its frame, with masks, assets and poses of the tracked objects."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pipeline import description, matching
from pipeline.description import DescriptionError, describe
from pipeline.frame import Frame
from pipeline.project import Project, Stage
from pipeline.scene.placement import Placement, Scene
from pipeline.scene.scene_files import write_scene
from pipeline.scene.settle import settle
from pipeline.scene.support_relations import object_under
from pipeline.segmentation import Segment
from pipeline.store import write_json, write_text
from pipeline.tracking.events import REACH_M, placements_at
from pipeline.tracking.fit import TOLERANCE_M
from pipeline.tracking.track import Track, TrackError
from pipeline.tracking.view import ObjectModel, View, composite

CARRIED: tuple[Stage, ...] = ("frame", "segments", "descriptions", "matches", "scene")
MASK_SOURCE = "track"


def project_at(source: Project, track: Track, frame: Frame, index: int, folder: Path) -> Project:
    """Create a project of a track's frame in a new folder. Objects that are lost then are left out.

    Each pose is a decision, which undo takes back. An object that is held in the air stands on a block.

    Args:
        source: the project whose twin was tracked.
        frame: the recording's frame at the index.

    Raises TrackError if nothing is tracked then, ProjectError for a folder that is not free.
    """
    scene = source.scene()
    kept = [k for k in range(len(track.names)) if track.state(index, k) != "lost"]
    if scene is None or not kept:
        raise TrackError(f"no object is tracked at {track.times[index]:.2f} s; choose another instant")
    placed = placements_at(track, scene, index)
    placements = tuple(_propped(placed[k], placed) for k in kept)
    settled, _ = settle(replace(scene, placements=placements))
    note = f"Taken from a recording at {track.times[index]:.2f} s; its objects were tracked from {source.name}."
    frame = replace(frame, world_from_camera=np.asarray(scene.world_from_camera), notes=(*frame.notes, note))
    project = Project.create(folder, frame)
    segments = _masks(placements, scene, frame)
    project.save_segments(segments)
    project.decide_together([_move(p, source) for p in placements])
    _carry_texts(source, project, segments)
    write_scene(settled, folder)
    for stage in CARRIED:
        project.finish(stage, project.key(stage), source.made_with(stage) or "", 0.0)
    return project


def _propped(p: Placement, placed: Sequence[Placement]) -> Placement:
    in_air = p.bottom > REACH_M and object_under(p, tuple(placed)) is None
    return replace(p, prop=p.bottom) if in_air else p


def _move(p: Placement, source: Project) -> tuple[str, dict]:
    pose = p.world_from_object
    data = {"id": p.segment_id, "pos": pose.pos.tolist(), "quat_wxyz": pose.quat_wxyz.tolist()}
    return "move", data | {"source": f"tracked from {source.name}"}


def _masks(placements: Sequence[Placement], scene: Scene, frame: Frame) -> tuple[Segment, ...]:
    """Return the pixels at which the depth is that of the nearest object, or is unknown within one."""
    view = View.of_frame(frame, np.asarray(scene.world_from_camera), full=True)
    models = [ObjectModel(p) for p in placements]
    renderings = {n: m.render(m.placement.world_from_object.matrix, view) for n, m in enumerate(models)}
    expected = composite(renderings, view.ground_depth(scene))
    fits = (view.depth == 0) | (np.abs(view.depth - expected.depth) < TOLERANCE_M)
    masks = [(p, (expected.label == n) & fits) for n, p in enumerate(placements)]
    return tuple(Segment(p.segment_id, mask, 1.0, MASK_SOURCE) for p, mask in masks if mask.any())


def _carry_texts(source: Project, project: Project, segments: Sequence[Segment]) -> None:
    """Write the descriptions, measured in the new frame, and the matches of the segments."""
    # affordances are pixels of the source's frame
    described = {one.segment_id: replace(one, affordances={}) for one in source.descriptions() or ()}
    rows = []
    for segment in segments:
        if (one := described.get(segment.id)) is None:
            continue
        try:
            measured = describe(project.frame, project.support, segment)
            one = replace(one, attributes=measured.attributes, warnings=measured.warnings)
        except (DescriptionError, ValueError):
            pass  # too few pixels to measure: what the source's frame showed
        rows.append(one)
    write_text(project.folder / "descriptions.json", description.to_json(rows))
    ids = {segment.id for segment in segments}
    matches = [match for match in source.matches() or () if match.segment_id in ids]
    write_json(project.folder / "matches.json", matching.to_json(matches))
