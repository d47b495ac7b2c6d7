import pytest
import small_task
import tabletop

from pipeline.simulation import kit


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    return tabletop.write(tmp_path_factory.mktemp("learning_table"), objects=small_task.FEW)


@pytest.fixture(scope="session")
def bowl_task(table):
    return small_task.layouts(table, kit.inside("red_cube", "white_bowl"))


@pytest.fixture(scope="session")
def bowl_subtasks(bowl_task):
    return small_task.subtasks(bowl_task)


@pytest.fixture
def short_trainings(monkeypatch):
    small_task.shorten_trainings(monkeypatch)
