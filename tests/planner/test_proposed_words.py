"""A task in words is about the objects that the words name, no others and all of them."""

import pytest

from pipeline.models import Question
from pipeline.planner import PlannerModel
from pipeline.planner.goals import named_objects
from pipeline.planner.proposals import alternatives, proposals
from pipeline.tasks import UnderstoodAnswer

RULES = PlannerModel()


def understood(text, scene):
    answer = RULES.ask(Question("understand_task", {"text": text, "scene": scene}, UnderstoodAnswer))
    assert isinstance(answer, UnderstoodAnswer) and answer.fits, (text, answer)
    return set(answer.objects)


def test_a_proposal_is_about_the_objects_it_names_whatever_the_robot_cannot_pick_up(data):
    for refused in [None, *data["objects"]]:
        others = [one for one in data["objects"] if one is not refused]
        marked = [refused | {"robot_cannot_pick_it_up": "too wide"}] if refused else []
        scene = data | {"objects": [*others, *marked]}
        for plan in (*proposals(scene), *([] if refused else alternatives(scene))):
            assert understood(plan.instruction, scene) == set(named_objects(plan.goals)), plan.instruction


@pytest.mark.parametrize("words", ["the yellow object and the red cube", "the red cube and the yellow object"])
def test_an_object_without_a_noun_of_its_own_takes_none_from_its_neighbour(data, words):
    last = data["objects"][-1]
    unknown = last | {"name": "yellow_object", "colour": "yellow", "shape": "irregular", "category": ""}
    scene = data | {"objects": [*data["objects"][:-1], unknown]}
    assert understood(f"Swap the places of {words}", scene) == {"yellow_object", "red_cube"}
