"""Projects that the tests of this folder read and never change: a twin, its solved task, and that task's exports."""

import zipfile
from pathlib import Path

import mujoco
import pytest
import twins

from pipeline.export import export_project


@pytest.fixture(scope="session")
def twin_folder(tmp_path_factory) -> Path:
    return twins.write(tmp_path_factory.mktemp("exported") / "twin")


@pytest.fixture(scope="session")
def twin(twin_folder) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_path(str(twin_folder / "scene" / "scene.xml"))


@pytest.fixture(scope="session")
def solved(twin_folder, tmp_path_factory, sandbox) -> Path:
    return twins.solve_twin(twin_folder, tmp_path_factory.mktemp("exported") / "solved", sandbox)


@pytest.fixture(scope="session")
def environment(solved, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("environment")
    export_project(solved, "gymnasium", folder / "task.zip")
    zipfile.ZipFile(folder / "task.zip").extractall(folder)
    return folder / "task"


@pytest.fixture(scope="session")
def dataset(solved, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("dataset") / "twin"
    assert len(export_project(solved, "lerobot", out)) == 1
    return out
