"""The export for Rerun, read by Rerun (`make soak`)."""

import mujoco
import numpy as np
import pytest

from pipeline.export import export_project
from pipeline.project import Project

TRANSLATION = "Transform3D:translation"


@pytest.mark.soak
def test_the_recording_has_the_photograph_every_body_and_the_poses_of_the_solution(solved, tmp_path):
    from rerun.chunk import RrdReader

    export_project(solved, "rrd", tmp_path / "twin.rrd")
    chunks = [chunk for chunk in RrdReader(tmp_path / "twin.rrd").stream() if not chunk.is_empty]
    paths = {chunk.entity_path.replace("\\", "") for chunk in chunks}
    assert {f"/photograph/camera/{name}" for name in ("colour", "depth", "masks")} | {"/photograph/points"} <= paths
    solution = Project.open(solved).solution()
    model = mujoco.MjModel.from_xml_path(str(solved / "scene" / "solution.xml"))
    data = mujoco.MjData(model)
    data.qpos[:] = solution.qpos[-1]
    mujoco.mj_forward(model, data)
    moving = {chunk.entity_path: chunk for chunk in chunks if "seconds" in chunk.timeline_names}
    assert moving
    for number in range(1, model.nbody):
        path = f"/solution/{model.body(number).name}"
        assert path in paths
        if path in moving:
            batch = moving[path].to_record_batch()
            times, translations = batch.column("seconds").to_numpy(), batch.column(TRANSLATION).to_pylist()
            assert float(times[-1] / np.timedelta64(1, "s")) == pytest.approx(solution.times[-1], abs=1e-6)
            assert np.ravel(translations[-1]) == pytest.approx(data.xpos[number], abs=1e-5)
