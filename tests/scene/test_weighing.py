"""A model says what a thing weighs; what cannot be is refused, and who said it stays known."""

from types import SimpleNamespace

import pytest
import scene_making as make

from pipeline.models import ModelError
from pipeline.scene.given import given_by, weighed
from pipeline.scene.weighing import WeightAnswer, question, weigh


class Says:
    name, reads = "gpt-test", True

    def __init__(self, *grams, friction=(0.3, 0.5, 0.7)):
        self.numbers = dict(zip(("lightest_g", "likely_g", "heaviest_g"), grams, strict=True))
        self.numbers |= dict(zip(("least_friction", "likely_friction", "most_friction"), friction, strict=True))

    def ask(self, asked):
        self.asked = asked
        return WeightAnswer(**self.numbers, reason="hard\x1b[31m plastic, empty")


@pytest.fixture
def cup(tmp_path):
    return make.thing(make.can(tmp_path), "cup", number=4, category="mug", container=True)


def test_a_models_answer_is_taken_in_kilograms_with_its_range_and_name(cup):
    model = Says(100, 250, 400)
    said = weigh(model, cup, "a white mug")
    assert (said.mass, said.mass_range) == (0.25, (0.1, 0.4))
    assert (said.friction, said.friction_range) == (0.5, (0.3, 0.7))
    assert said.source == "model gpt-test"
    assert "\x1b" not in said.reason
    assert model.asked.about == "object 4"
    assert model.asked.data["object"]["size_cm"] == [6.0, 6.0, 10.0]


def test_a_likely_mass_outside_its_own_range_widens_the_range(cup):
    said = weigh(Says(300, 250, 400), cup)
    assert said.mass_range[0] <= said.mass <= said.mass_range[1]


@pytest.mark.parametrize("model", [
    Says(100, 250, 400_000), Says(-5, 250, 400), Says(0, 0, 0), Says(100, float("nan"), 400),
    Says(100, 250, 400, friction=(0.2, 0.5, 50)), Says(100, 250, 400, friction=(-1, 0.5, 0.6)),
])  # fmt: skip
def test_what_no_thing_of_that_size_can_be_is_refused_in_one_line(cup, model):
    with pytest.raises(ModelError, match="which cannot be") as refused:
        weigh(model, cup)
    assert "\n" not in str(refused.value)


def test_the_question_is_the_same_for_the_same_thing(cup):
    assert question(cup, "a mug").data == question(cup, "a mug").data


def test_who_weighed_it_stays_known_and_a_person_has_the_last_word(cup):
    scene = make.scene(cup)
    by_model = {"id": 4, "mass": 0.25, "friction": 0.5, "mass_range": [0.1, 0.4], "friction_range": [0.3, 0.7],
                "source": "model gpt-test"}  # fmt: skip
    by_hand = {"id": 4, "mass": 0.3, "friction": None}

    def after(*decisions):
        log = [SimpleNamespace(kind="physics", data=data) for data in decisions]
        return weighed(scene, given_by(log)).placements[0]

    asked = after(by_model)
    assert (asked.mass, asked.mass_range, asked.mass_source) == (0.25, (0.1, 0.4), "model gpt-test")
    person = after(by_model, by_hand)
    assert (person.mass, person.mass_source) == (0.3, "person")
    assert person.friction_source == cup.friction_source
