"""A person's pose, size and weight hold, and can be taken back; a model's mass and friction are plausible."""

from types import SimpleNamespace

import drawn_scene as make
import numpy as np
import pytest
from test_place_objects import asset_placement, place_again, position_error

from pipeline.geometry import Pose
from pipeline.models import ModelError
from pipeline.scene import scene_files
from pipeline.scene.overrides import Override, override_scene_physics, overrides_from_decisions
from pipeline.scene.physical_properties import WeightAnswer, estimate_physical_properties, question

UPRIGHT = [1.0, 0, 0, 0]


def override_after(*decisions):
    log = [SimpleNamespace(kind=kind, data={"id": 2, **data}) for kind, data in decisions]
    return overrides_from_decisions(log).get(2, Override())


MOVE = ("move", {"pos": [0.1, 0.2, 0.3], "quat_wxyz": [2, 0, 0, 0]})
RESIZE = ("resize", {"scale": 1.3, "pos": [0.1, 0.2, 0.4], "quat_wxyz": UPRIGHT})
REFIT = ("refit", {"pos": [0.5, 0, 0], "quat_wxyz": UPRIGHT, "scale": 1.3, "free": True})
RESET = ("refit", {})
WEIGH = ("physics", {"mass": 0.7, "friction": 0.4})


def test_the_last_move_counts_a_resize_keeps_the_pose_a_refit_ends_both_and_a_reset_everything():
    for before in ((), (MOVE,), (RESIZE,), (MOVE, RESIZE), (REFIT,)):
        assert override_after(*before, REFIT).fixed_pose is None
        reset = override_after(*before, RESET)
        assert (reset.pose, reset.scale, reset.refit_scale) == (None, None, False)
    override = override_after(MOVE, ("move", {"pos": [0, 0, 2], "quat_wxyz": [2, 0, 0, 0]}))
    assert np.allclose(override.pose.pos, [0, 0, 2]) and np.allclose(override.pose.quat_wxyz, UPRIGHT)
    assert override_after(RESIZE, MOVE).scale == 1.3
    assert np.allclose(override_after(MOVE, ("resize", {"scale": 2})).fixed_pose.pos, [0.1, 0.2, 0.3])


def test_weights_end_with_the_asset_survive_moves_and_name_their_source():
    override = override_after(MOVE, RESIZE, WEIGH, ("choose_asset", {"asset_id": "red_mug"}))
    assert np.allclose(override.fixed_pose.pos, RESIZE[1]["pos"])
    assert (override.scale, override.mass, override.friction) == (None, None, None)
    assert override_after(WEIGH, MOVE, REFIT).mass == 0.7
    impossible = ("physics", {"mass": -1, "friction": float("nan")})
    assert override_after(impossible) is not None and override_after(impossible).mass is None
    assert override_after(("resize", {"scale": 1e9})).scale == 20
    estimate = ("physics", {"mass": 0.5, "friction": 0.6, "friction_range": [0.4, 0.9], "source": "model seer"})
    override = override_after(estimate, ("physics", {"mass": 0.9, "friction": 0.6}))
    assert (override.mass, override.mass_source, override.mass_range) == (0.9, "person", None)
    assert (override.friction_source, override.friction_range) == ("model seer", (0.4, 0.9))


@pytest.fixture(scope="module")
def mug(library):
    return make.scene(asset_placement(library, "red_mug", 2, (0.05, 0.1), 2.0))


def test_a_resized_object_keeps_its_bottom_and_overridden_weights_reach_the_file(mug, library, tmp_path):
    (plain,) = place_again(mug, library, tmp_path).placements
    (large,) = place_again(mug, library, tmp_path, overrides={2: Override(scale=1.5)}).placements
    bottoms = [p.world_from_object.pos[2] - p.size[2] / 2 for p in (plain, large)]
    assert np.allclose(large.size, 1.5 * plain.size) and bottoms[0] == pytest.approx(bottoms[1])
    assert plain.machine_pose is None
    assert np.allclose(large.machine_pose.world_from_object.matrix, plain.world_from_object.matrix)
    scene = place_again(mug, library, tmp_path, overrides={2: Override(mass=0.7, friction=0.4, scale=1.2)})
    assert (scene.placements[0].mass, scene.placements[0].friction) == (0.7, 0.4)
    scene_files.write_scene(scene, tmp_path)
    (read,) = scene_files.read_scene(tmp_path).placements
    assert (read.mass, read.scale) == (0.7, 1.2) and read.mass_source == read.friction_source == "person"
    assert read.mass_range == pytest.approx([edge * 1.2**3 for edge in library["red_mug"].mass_range])
    assert read.machine_pose.scale == 1


def test_a_refit_finds_the_true_pose_from_a_persons_pose_and_may_change_the_scale(mug, library, tmp_path):
    true = mug.placements[0].world_from_object
    start = Pose(true.pos + np.array([0.03, -0.02, 0]), true.quat_wxyz)
    (placed,) = place_again(mug, library, tmp_path, overrides={2: Override(start, refit=True)}).placements
    assert position_error(mug.placements[0], placed) < 0.003
    override = Override(mug.placements[0].world_from_object, 0.85, refit=True, refit_scale=True)
    (placed,) = place_again(mug, library, tmp_path, overrides={2: override}).placements
    assert placed.scale == pytest.approx(1, abs=0.05)


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


def test_a_models_answer_becomes_kilograms_with_a_range_and_a_source_unless_it_is_impossible(cup):
    model = FixedAnswer(100, 250, 400)
    estimate = estimate_physical_properties(model, cup, "a white mug")
    assert (estimate.mass, estimate.mass_range) == (0.25, (0.1, 0.4))
    assert (estimate.friction, estimate.friction_range) == (0.5, (0.3, 0.7))
    assert estimate.source == "model gpt-test" and "\x1b" not in estimate.reason
    assert model.question.subject == "object 4" and model.question.data["object"]["size_cm"] == [6.0, 6.0, 10.0]
    estimate = estimate_physical_properties(FixedAnswer(300, 250, 400), cup)
    assert estimate.mass_range[0] <= estimate.mass <= estimate.mass_range[1]
    assert question(cup, "a mug").data == question(cup, "a mug").data
    nan, usual = float("nan"), (100, 250, 400)
    impossible = [FixedAnswer(*grams) for grams in ((100, 250, 400_000), (-5, 250, 400), (0, 0, 0), (100, nan, 400))]
    impossible += [FixedAnswer(*usual, friction=friction) for friction in ((0.2, 0.5, 50), (-1, 0.5, 0.6))]
    for model in impossible:
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
