"""Mass and friction from a model: impossible answers are rejected, and the source stays known."""

from types import SimpleNamespace

import drawn_scene as make
import pytest

from pipeline.models import ModelError
from pipeline.scene.overrides import override_scene_physics, overrides_from_decisions
from pipeline.scene.physical_properties import WeightAnswer, estimate_physical_properties, question


class FixedAnswer:
    name, has_language = "gpt-test", True

    def __init__(self, *grams, friction=(0.3, 0.5, 0.7)):
        self.numbers = dict(zip(("lightest_g", "likely_g", "heaviest_g"), grams, strict=True))
        self.numbers |= dict(zip(("least_friction", "likely_friction", "most_friction"), friction, strict=True))

    def ask(self, question):
        self.question = question
        return WeightAnswer(**self.numbers, reason="hard\x1b[31m plastic, empty")


@pytest.fixture
def cup(tmp_path):
    return make.placement(make.can(tmp_path), "cup", number=4, category="mug", container=True)


def test_a_models_answer_becomes_kilograms_with_a_range_that_holds_them_and_a_source(cup):
    model = FixedAnswer(100, 250, 400)
    estimate = estimate_physical_properties(model, cup, "a white mug")
    assert (estimate.mass, estimate.mass_range) == (0.25, (0.1, 0.4))
    assert (estimate.friction, estimate.friction_range) == (0.5, (0.3, 0.7))
    assert estimate.source == "model gpt-test" and "\x1b" not in estimate.reason
    assert model.question.subject == "object 4" and model.question.data["object"]["size_cm"] == [6.0, 6.0, 10.0]
    estimate = estimate_physical_properties(FixedAnswer(300, 250, 400), cup)
    assert estimate.mass_range[0] <= estimate.mass <= estimate.mass_range[1]
    assert question(cup, "a mug").data == question(cup, "a mug").data


@pytest.mark.parametrize("model", [
    FixedAnswer(100, 250, 400_000), FixedAnswer(-5, 250, 400), FixedAnswer(0, 0, 0),
    FixedAnswer(100, float("nan"), 400),
    FixedAnswer(100, 250, 400, friction=(0.2, 0.5, 50)), FixedAnswer(100, 250, 400, friction=(-1, 0.5, 0.6)),
])  # fmt: skip
def test_an_implausible_mass_for_the_size_is_one_line(cup, model):
    with pytest.raises(ModelError, match="which is impossible") as error:
        estimate_physical_properties(model, cup)
    assert "\n" not in str(error.value)


def test_the_source_stays_known_and_a_person_overrides_a_model(cup):
    scene = make.scene(cup)
    by_model = {"id": 4, "mass": 0.25, "friction": 0.5, "mass_range": [0.1, 0.4], "friction_range": [0.3, 0.7],
                "source": "model gpt-test"}  # fmt: skip
    by_hand = {"id": 4, "mass": 0.3, "friction": None}

    def after(*decisions):
        log = [SimpleNamespace(kind="physics", data=data) for data in decisions]
        return override_scene_physics(scene, overrides_from_decisions(log)).placements[0]

    estimated = after(by_model)
    assert (estimated.mass, estimated.mass_range, estimated.mass_source) == (0.25, (0.1, 0.4), "model gpt-test")
    person = after(by_model, by_hand)
    assert (person.mass, person.mass_source) == (0.3, "person")
    assert person.friction_source == cup.friction_source
