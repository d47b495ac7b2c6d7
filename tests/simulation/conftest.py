"""Fixtures: a sandbox, a table with two cubes, and targets for attacks."""

import json
import os
import socket
from pathlib import Path

import pytest

from pipeline.simulation.kit import Scene
from pipeline.simulation.sandbox.sandbox import Sandbox
from tests.simulation.attack_programs import CANARY


@pytest.fixture(scope="session")
def scene(table) -> Scene:
    return Scene.load(table)


@pytest.fixture(scope="module")
def outside(tmp_path_factory) -> Path:
    """A folder outside the project, with a secret file."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "secret").write_text(CANARY)
    return folder


@pytest.fixture(scope="module")
def sandbox(project):
    before = dict(os.environ)
    os.environ["OPENAI_API_KEY"] = CANARY
    try:
        with Sandbox() as sandbox:
            assert all(sandbox.protection.coverage.values())
            yield sandbox
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A project folder with two cubes on a table."""
    folder = tmp_path_factory.mktemp("project")
    places = {"red_cube": (0.0, 0.1), "blue_cube": (0.0, -0.1)}
    body = '<body name="{}" pos="{} {} 0.02"><freejoint/><geom type="box" size=".02 .02 .02" mass=".05"/></body>'
    bodies = "".join(body.format(name, *xy) for name, xy in places.items())
    table = '<geom name="table" type="box" pos="0 0 -.02" size=".4 .4 .02"/>'
    (folder / "scene").mkdir()
    (folder / "scene" / "scene.xml").write_text(f"<mujoco><worldbody>{table}{bodies}</worldbody></mujoco>")
    placements = [
        {
            "name": name,
            "segment_id": number,
            "asset_id": None,
            "scale": 1.0,
            "size": [0.04, 0.04, 0.04],
            "world_from_object": {"pos": [*xy, 0.02], "quat_wxyz": [1, 0, 0, 0]},
            "shape": "cube",
            "colour": name.split("_")[0],
        }
        for number, (name, xy) in enumerate(places.items(), 1)
    ]
    camera = [[1, 0, 0, 0], [0, -1, 0, 0], [0, 0, -1, 1], [0, 0, 0, 1]]
    corners = [[-0.4, -0.4], [0.4, -0.4], [0.4, 0.4], [-0.4, 0.4]]
    scene = {"world_from_camera": camera, "placements": placements, "table": corners, "table_rgb": [200, 200, 200]}
    (folder / "scene.json").write_text(json.dumps(scene))
    (folder / "descriptions.json").write_text("[]")
    return folder


@pytest.fixture(scope="module")
def listener():
    """A local server that would notice a connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.01)
        yield server
