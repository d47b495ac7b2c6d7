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


def test_worth_is_a_success_on_new_layouts_and_leaves_no_file(program, table, sandbox, few):
    before = sorted(table.rglob("*"))
    found = learned(program, table, sandbox, Budget(demonstrations=3))
    assert found.layouts == 2 and found.success in (0.0, 0.5, 1.0) and found.seconds > 0
    assert sorted(table.rglob("*")) == before


def test_a_learner_without_time_is_no_verdict_about_the_task(program, table, sandbox, few):
    found = learned(program, table, sandbox, Budget(demonstrations=1, seconds=0.0))
    assert found.success is None and found.reason == "the learner was not ready after 0 s"


def test_a_stopped_learner_returns_nothing(program, table, sandbox, few):
    assert learned(program, table, sandbox, Budget(demonstrations=1), stopped=lambda: True) is None
