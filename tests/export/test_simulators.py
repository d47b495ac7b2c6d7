"""The URDF export in the simulators that it has loaders for (`make soak`): mass, friction, pose, and standing."""

import json
import subprocess
from pathlib import Path

import pytest
from foreign import SIMULATORS
from ready_projects import ready_project

from pipeline.export import export_project

STILL_M = {"pybullet": 0.0015, "drake": 0.001, "sapien": 0.001, "newton": 0.005}
"""Metres that an object may move in 2 s. Bullet lifts cylinders by its collision margin of 1 mm; Newton lets a bin of
seventeen convex pieces sink by 4 mm."""


@pytest.mark.soak
@pytest.mark.parametrize("scene", ["furniture", "stack"])
@pytest.mark.parametrize("simulator", STILL_M)
def test_the_objects_have_their_masses_frictions_and_poses_and_stand_still(simulator, scene, twin_folder, tmp_path):
    project = twin_folder if scene == "furniture" else ready_project("stack", until="task")
    export_project(project, "urdf", tmp_path / "twin")
    objects = json.loads((tmp_path / "twin" / "poses.json").read_text())["objects"]
    script = Path(__file__).with_name("simulate_urdf.py")
    command = [str(SIMULATORS), str(script), simulator, str(tmp_path / "twin")]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-2000:]
    found = json.loads(ran.stdout[ran.stdout.rindex("{") :])
    assert set(found) == {one["name"] for one in objects if not one["fixed"]}
    for one in objects:
        if not one["fixed"]:
            mass, friction, moved = found[one["name"]]
            assert mass == pytest.approx(one["mass"], rel=1e-4), one["name"]
            assert friction is None or simulator == "pybullet" or friction == pytest.approx(one["friction"], abs=1e-5)
            assert moved < STILL_M[simulator], one["name"]
