"""Fixtures: a sandbox, a table with two cubes, and targets for attacks."""

from pathlib import Path

import pytest
import tabletop

from pipeline.simulation.kit import Scene
from pipeline.simulation.sandbox.sandbox import Sandbox
from tests.simulation.attack_programs import CANARY


@pytest.fixture(scope="session")
def scene(table) -> Scene:
    return Scene.load(table)


@pytest.fixture(scope="module")
def outside(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("outside")
    (folder / "secret").write_text(CANARY)
    return folder


@pytest.fixture(scope="module")
def sandbox(project):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", CANARY)
        with Sandbox() as sandbox:
            assert all(sandbox.protection.coverage.values())
            yield sandbox


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    places = {"red_cube": ("red", (0.0, 0.1)), "blue_cube": ("blue", (0.0, -0.1))}
    cubes = {name: ("cube", "cube", colour, (0.04,) * 3, xy, 0.05) for name, (colour, xy) in places.items()}
    folder = tabletop.write(tmp_path_factory.mktemp("project"), objects=cubes)
    (folder / "descriptions.json").write_text("[]")
    return folder
