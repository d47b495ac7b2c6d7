"""A refit that makes an object agree worse with the photograph is undone, and said so."""

from dataclasses import replace
from pathlib import Path

import drawn_scene as make
import numpy as np
import pytest

from pipeline.geometry import Pose
from pipeline.project import Project
from pipeline.scene.scene_files import write_scene
from studio.sessions.refit_check import pending_refit, undo_if_worse


@pytest.mark.parametrize(("before_m", "after_m", "kept"), [(0.0, 0.03, False), (0.03, 0.0, True), (0.0, 0.0, True)])
def test_a_refit_is_kept_unless_outline_and_depth_agree_worse_than_before(tmp_path: Path, before_m, after_m, kept):
    box = make.placement(make.box(tmp_path), "box")

    def off(metres: float):
        pos = box.world_from_object.pos + np.array([metres, 0, 0])
        return make.scene(replace(box, world_from_object=Pose(pos, box.world_from_object.quat_wxyz)))

    frame, _, segments = make.photograph(make.scene(box))
    project = Project.create(tmp_path / "project", frame)
    project.save_segments(segments)
    write_scene(off(before_m), project.folder)
    project.finish("scene", project.key("scene"), "measured", 0.0)
    project.decide("refit", id=1)
    assert pending_refit(project) is None  # back to the automatic pose: a person's wish
    project.undo()
    project.decide("refit", id=1, free=True)
    refit = pending_refit(project)
    assert refit
    write_scene(off(after_m), project.folder)
    note = undo_if_worse(project, refit)
    assert bool(project.active_decisions("refit")) == kept == (not note)
    assert kept or note.startswith("box was not fitted again: ")
