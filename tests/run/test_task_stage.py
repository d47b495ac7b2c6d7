"""A stated task does not depend on the proposals, and unusable proposals are dropped with the reason."""

import pytest
import tabletop

from pipeline.assets import Library
from pipeline.models import ModelError
from pipeline.planner import PlannerModel
from pipeline.run import Services, run_stage
from pipeline.segmentation import DepthSegmenter
from pipeline.tasks import TaskAnswer, TasksAnswer

GHOST = TaskAnswer(name="ride", instruction="Ride the elephant.", objects=["pink_elephant"], goals=["it rides"])
LIFT = TaskAnswer(name="lift", instruction="Lift the ball.", objects=["orange_ball"], goals=["it flies"])


class ProposingModel(PlannerModel):
    """Understands by rules and proposes what it is given, or fails."""

    name = "proposer-1"

    def __init__(self, *proposals: TaskAnswer):
        self.proposals = proposals

    def ask(self, question):
        if question.kind != "propose_tasks":
            return super().ask(question)
        if not self.proposals:
            raise ModelError("no words")
        return TasksAnswer(tasks=list(self.proposals))


@pytest.fixture
def run(tmp_path):
    """Run the task stage of a table with a model; return the project and the messages."""

    def run_stage_with(model, text=None):
        project = tabletop.project(tmp_path / "table")
        services = Services(DepthSegmenter(), model, Library(()), None, lambda: None)  # type: ignore[arg-type]
        return project, [step.message for step in run_stage(project, services, "task", text)]

    return run_stage_with


@pytest.mark.parametrize("proposals", [(GHOST,), (GHOST, GHOST), (), (LIFT,)])
def test_a_stated_task_does_not_depend_on_the_proposals(run, proposals):
    project, messages = run(ProposingModel(*proposals), "put the green cube on the blue cube")
    assert project.task().instruction == "put the green cube on the blue cube"
    assert project.stages()["task"] == "done"
    ghosts = [one for one in messages if one == "proposal left out: ride: there is no pink_elephant here"]
    assert len(ghosts) == proposals.count(GHOST)
    assert ("no proposals: no words" in messages) == (not proposals)


def test_unusable_proposals_are_dropped_one_by_one_and_the_others_are_kept(run):
    project, messages = run(ProposingModel(GHOST, LIFT, GHOST))
    assert [task.name for task in project.tasks()] == ["lift"] and project.task().source == "proposer-1"
    assert sum("pink_elephant" in one for one in messages) == 2


def test_without_a_usable_proposal_the_rules_propose_and_say_so(run):
    project, messages = run(ProposingModel(GHOST))
    assert "no proposal of proposer-1 can be used; the offline rules propose tasks instead" in messages
    assert project.tasks() and {task.source for task in project.tasks()} == {"rules"}


def test_a_failing_model_without_a_stated_task_fails_the_stage(run):
    with pytest.raises(ModelError, match="no words"):
        run(ProposingModel())
