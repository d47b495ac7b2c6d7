import numpy as np
import pytest
from tabletop import CAMERA

from pipeline.assets.library import BUILTIN_LIBRARY, Library
from pipeline.scene import Scene
from pipeline.scene.scene_files import write_scene
from pipeline.task_generation.bring import bring


@pytest.fixture(scope="session")
def library() -> Library:
    return Library.open([BUILTIN_LIBRARY])


@pytest.fixture(scope="session")
def bare_table() -> Scene:
    outline = np.array([[-0.4, -0.3], [0.4, -0.3], [0.4, 0.3], [-0.4, 0.3]])
    return Scene(CAMERA, outline, (150, 130, 110), ())


@pytest.fixture(scope="session")
def table(bare_table, library, tmp_path_factory):
    """The folder of a twin with two cubes and a bowl."""
    folder = tmp_path_factory.mktemp("generation") / "twin"
    folder.mkdir()
    scene = bring(bare_table, [library[id] for id in ("red_cube", "blue_cube", "teal_bowl")]).scene
    write_scene(scene, folder)
    return folder
