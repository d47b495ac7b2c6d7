import pytest

from pipeline.planner import PlannerModel
from pipeline.router import write_program
from pipeline.simulation import kit
from pipeline.task_generation.budget import Budget
from pipeline.tasks import Task

pytest.importorskip("stable_baselines3", reason='needs the extra "learn"')

TASK = Task("a", "Put the red cube into the bowl.", ("red_cube", "teal_bowl"), ("red_cube is inside teal_bowl",))


@pytest.fixture(scope="module")
def program(table):
    return write_program(TASK, kit.Scene.load(table), PlannerModel())


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr("pipeline.task_generation.worth.LAYOUTS", 2)


def learned(program, table, sandbox, budget, **options):
    from pipeline.task_generation.worth import learn_briefly

    return learn_briefly(TASK, program, table, sandbox, budget, **options)


def test_worth_is_a_success_on_new_layouts_and_unknown_without_time_or_when_stopped(program, table, sandbox, few):
    before = sorted(table.rglob("*"))
    found = learned(program, table, sandbox, Budget(demonstrations=3))
    assert found.layouts == 2 and found.success in (0.0, 0.5, 1.0) and found.seconds > 0
    assert sorted(table.rglob("*")) == before
    found = learned(program, table, sandbox, Budget(demonstrations=1, seconds=0.0))
    assert found.success is None and found.reason == "the learner was not ready after 0 s"
    assert learned(program, table, sandbox, Budget(demonstrations=1), stopped=lambda: True) is None
