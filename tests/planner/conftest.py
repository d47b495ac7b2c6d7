import pytest

from pipeline.tasks import scene_to_json


@pytest.fixture(scope="session")
def data(scene):
    """The table as a question holds it."""
    return scene_to_json(scene)
