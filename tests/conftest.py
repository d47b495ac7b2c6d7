"""What tests of several rooms share. Being here puts this folder on the import path: `import tabletop`."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import tabletop
from hypothesis import settings

if TYPE_CHECKING:
    from pipeline.simulation.sandbox import Sandbox

os.environ.setdefault("MUJOCO_GL", "egl")  # before anything imports mujoco
os.environ.setdefault("PYOPENGL_PLATFORM", "egl")
settings.register_profile("untimed", deadline=None)  # a busy machine is no failure
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project folder with seven simple things on a table that stands askew in the world."""
    return tabletop.write(tmp_path_factory.mktemp("table"), turn=0.7)


@pytest.fixture(scope="session")
def sandbox() -> "Iterator[Sandbox]":
    """One fork server for all who run programs; it takes a second or two to start."""
    from pipeline.simulation.sandbox import Sandbox

    with Sandbox() as running:
        yield running
