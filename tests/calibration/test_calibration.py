"""Parameters planted in a second model are found from its noisy episodes; what cannot be found is named."""

import json
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from bench import planted_arms
from bench.planted_arms import DELAY_S, MASSES, NOISE, arm_xml, record
from pipeline.calibration import Calibration, calibrate, parameter, with_values, write_calibration
from pipeline.calibration.model_files import read_model, with_spec_values
from pipeline.calibration.parameters import FIELDS, CalibrationError, default_parameters, names_of, read_parameters
from pipeline.calibration.replay import at_base, decided_values, replay, within
from pipeline.calibration.trial import COURSES, held_actions
from pipeline.divergence import Episode, compare, load_robot, read_episode, write_episode
from studio.__main__ import main

TRUTH = {"turn.damping": 2.2, "elbow.frictionloss": 0.4, "payload.mass": 0.7}
PARAMETERS = [
    {"joint": "turn", "field": "damping"}, {"joint": "elbow", "field": "frictionloss"},
    {"body": "payload", "field": "mass"}, {"geom": "tile", "field": "friction"},
]  # fmt: skip
TILE = '<geom name="tile" type="box" size=".1 .1 .01" pos="2 2 0"/>'


def truth_xml() -> str:
    return arm_xml({**MASSES, "payload": 0.7}, (2.2, 1.0, 0.6), (0.8, 0.6, 0.4))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A model with other parameters than the truth, a tile that nothing touches, and two episodes of the truth."""
    folder = tmp_path_factory.mktemp("calibration")
    (folder / "model.xml").write_text(arm_xml().replace("<worldbody>", f"<worldbody>{TILE}"))
    for number in range(2):
        write_episode(record(truth_xml(), number, 2.0), folder / f"{number}.npz")
    (folder / "parameters.json").write_text(json.dumps({"parameters": PARAMETERS}))
    return folder


def test_planted_parameters_and_the_delay_are_found_and_written_and_what_nothing_touches_is_named(folder):
    spec, model = read_model(folder / "model.xml")
    parameters = read_parameters(folder / "parameters.json", model)
    held_out = [record(truth_xml(), 9, 2.0)]
    *_, calibrated = calibrate(model, parameters, [record(truth_xml(), n, 2.0) for n in range(2)], held_out)
    assert isinstance(calibrated, Calibration)
    write_calibration(calibrated, spec, model, folder / "model.xml", folder / "out")
    found = {one.parameter.name: one for one in calibrated.estimates if one.identifiable}
    assert set(found) == set(TRUTH)
    for name, value in TRUTH.items():
        assert abs(found[name].value / value - 1) < 0.05
        assert found[name].low < found[name].value < found[name].high < 1.25 * found[name].low
    (tile,) = calibrated.unidentified
    assert (tile.parameter.name, tile.value, tile.low, tile.high) == ("tile.friction", 1.0, None, None)
    assert "too little effect" in tile.reason
    assert calibrated.held_out_after < calibrated.held_out_before / 2
    assert calibrated.after < 0.003  # the sensors' noise is 2 mrad
    assert abs(calibrated.delay - 0.013) < 0.002
    data = json.loads((folder / "out" / "calibration.json").read_text())
    model = mujoco.MjModel.from_xml_path(str(folder / "out" / "calibrated.xml"))
    read = {row["name"]: row for row in data["parameters"]}
    for one in calibrated.estimates:
        number = parameter(model, one.parameter.kind, one.parameter.element, one.parameter.field).initial
        assert number == pytest.approx(read[one.parameter.name]["value"], rel=1e-5)
    assert data["held_out_after"] == calibrated.held_out_after


@pytest.mark.soak
def test_friction_losses_are_found_where_the_first_minimum_is_a_worse_one():
    """From the model's own values the search ends 3.7 % beside the shoulder's friction loss, within the noise."""
    frictions = {"turn": 1.072, "shoulder": 0.678, "elbow": 0.489}
    truth = arm_xml({**MASSES, "payload": 0.3761}, (1.507, 1.055, 0.985), tuple(frictions.values()))
    model = mujoco.MjModel.from_xml_string(arm_xml())
    chosen = [*default_parameters(model, list(frictions), []), parameter(model, "body", "payload", "mass")]
    *_, result = calibrate(model, chosen, [record(truth, 700200 + number) for number in range(4)])
    assert isinstance(result, Calibration)
    found = {one.parameter.element: one for one in result.estimates if one.parameter.field == "frictionloss"}
    for joint, value in frictions.items():
        one = found[joint]
        assert abs(one.value / value - 1) < 0.02
        assert one.low is not None and one.high is not None and one.low < value < one.high
        assert one.bound is not None and one.bound < 0.02 * value


@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_a_log_coarser_than_the_commands_still_gives_values_whose_intervals_hold_the_truth(monkeypatch, count):
    """One second tells that the actions are linear between samples; two episodes of three tell the values, too."""
    monkeypatch.setattr(planted_arms, "DELAY_S", 0.0)  # late sensors look like held actions
    model = mujoco.MjModel.from_xml_string(arm_xml())
    chosen = [parameter(model, "joint", "turn", "damping"), parameter(model, "body", "payload", "mass")]
    truth = arm_xml({**MASSES, "payload": 0.7}, (2.2, 1.0, 0.6))
    logs = []
    for one in (record(truth, n, 2.0 * count - 1) for n in range(count)):  # three of four commands are in no log
        log = Episode.from_arrays(one.times[::4], one.positions[::4], one.names, source="coarse")
        logs.append(replace(log, actions=one.actions[::4]))
    *_, result = calibrate(model, chosen, logs)
    assert isinstance(result, Calibration) and result.course == "linear"
    assert result.after < result.before / 2
    for one, value in zip(result.estimates, (2.2, 0.7), strict=True) if count > 1 else ():
        assert one.low is not None and one.high is not None and one.low < value < one.high < 1.5 * one.low


def test_every_field_is_the_same_in_the_compiled_model_and_in_the_file_and_inertia_follows_the_mass():
    spec = mujoco.MjSpec.from_string(arm_xml().replace("</worldbody>", f"{TILE}</worldbody>"))
    spec.add_pair(name="pair", geomname1="tile", geomname2="tile2")
    spec.worldbody.add_geom(name="tile2", size=[0.1, 0, 0], pos=[3, 3, 0])
    model = spec.compile()
    chosen = [parameter(model, kind, names_of(model, kind)[-1], field) for kind in FIELDS for field in FIELDS[kind]]
    values = [abs(one.initial) * 1.3 + 0.02 for one in chosen]
    edited, written = with_values(model, chosen, values), with_spec_values(spec, model, chosen, values).compile()
    for name in ("dof_damping", "dof_frictionloss", "dof_armature", "jnt_stiffness", "body_mass", "body_inertia",
                 "body_ipos", "geom_friction", "geom_solref", "pair_friction", "actuator_gainprm", "actuator_biasprm",
                 "dof_invweight0", "body_invweight0"):  # fmt: skip
        assert np.allclose(getattr(edited, name), getattr(written, name), rtol=1e-6), name
    body, mass = model.body("payload").id, parameter(model, "body", "payload", "mass")
    heavier = with_values(model, [mass], [2 * mass.initial])
    assert heavier.body_mass[body] == pytest.approx(2 * model.body_mass[body])
    np.testing.assert_allclose(heavier.body_inertia[body], 2 * model.body_inertia[body])


def test_every_course_of_the_actions_goes_through_their_samples_and_actions_between_steps_keep_their_mean():
    times = np.arange(6) * 0.02
    ramp, constant = np.linspace(0, 1, 6)[:, None], np.full((6, 1), 0.3)
    for course in ("linear", "smooth", "nearest"):
        fine = COURSES[course](times, ramp, 1000, 1e-4)
        assert abs(fine[np.searchsorted(np.arange(1000) * 1e-4, times[1:5])] - ramp[1:5]).max() < 0.01
        assert np.allclose(COURSES[course](times, constant, 1000, 1e-4), 0.3)
    times = np.array([0.0, 0.01, 0.03, 0.05])
    actions = np.array([[1.0], [3.0], [2.0], [5.0]])
    controls = held_actions(times, actions, 20, 0.004)
    assert controls[:2, 0] == pytest.approx([1, 1]) and controls[2, 0] == pytest.approx(2.0)
    assert controls.sum() * 0.004 == pytest.approx(0.01 * 1 + 0.02 * 3 + 0.02 * 2 + 0.03 * 5)


def test_what_does_not_fit_is_refused_in_one_line(folder, tmp_path, refused):
    write_episode(record(truth_xml(), 3, 1.0), folder / "without.csv")
    damping = '{"joint": "turn", "field": "damping"}'
    for model, real, rows, words in (
        ("none.xml", "0.npz", None, "there is no model"),
        ("model.xml", "without.csv", None, "has no actions"),
        ("model.xml", "0.npz", '{"parameters": [{"joint": "knee", "field": "damping"}]}', "turn, shoulder, elbow"),
        ("model.xml", "0.npz", '{"parameters": [{"joint": "turn", "field": "colour"}]}', "damping, frictionloss"),
        ("model.xml", "0.npz", '{"parameters": [{"joint": "turn", "field": "two\\nlines"}]}', r"'two\nlines' to"),
        ("model.xml", "0.npz", '{"parameters": []}', "no parameter"),
        ("model.xml", "0.npz", f'{{"parameters": [{damping}, {damping.replace("turn", "*")}]}}', "twice"),
    ):
        (tmp_path / "wrong.json").write_text(rows or "")
        more = ["--parameters", str(tmp_path / "wrong.json")] if rows else []
        assert words in refused("calibrate", folder / model, folder / real, *more, "--out", tmp_path / "out")
        assert not (tmp_path / "out").exists()


OTHER = arm_xml(dampings=(2.5, 1.0, 0.6))


def error(model, episode) -> float:
    """RMSE in radians to what the late sensors of the episode report."""
    sim = replay(model, episode).positions
    late = np.stack([np.interp(episode.times - DELAY_S, episode.times, column) for column in sim.T], axis=1)
    return float(np.sqrt(np.mean((late - episode.positions) ** 2)))


def test_the_model_that_recorded_an_episode_repeats_it_and_a_decided_calibration_is_used():
    episode = record(arm_xml(), 0, 2.0)
    true, other = mujoco.MjModel.from_xml_string(arm_xml()), mujoco.MjModel.from_xml_string(OTHER)
    assert error(true, episode) < 1.5 * NOISE < 5 * NOISE < error(other, episode)
    rows = [
        {"kind": "joint", "element": "turn", "field": "damping", "value": 1.5},
        {"kind": "joint", "element": "knee", "field": "damping", "value": 1.5},
        {"kind": "joint", "element": "turn", "field": "colour", "value": 1.5}, "nonsense",
    ]  # fmt: skip
    decided = decided_values(other, [rows])
    assert error(decided, episode) == error(true, episode)
    assert other.dof_damping[0] == 2.5


def test_columns_that_are_no_joint_are_left_out_and_other_actuators_than_the_actions_refused():
    episode = record(arm_xml(), 0, 1.0)
    model = mujoco.MjModel.from_xml_string(arm_xml().split('<position name="a3"')[0] + "</actuator></mujoco>")
    with pytest.raises(CalibrationError, match="3 actions a sample, the model has 2"):
        next(calibrate(model, [parameter(model, "joint", "turn", "damping")], [episode]))
    episode = record(arm_xml(), 2, 1.0)
    wide = np.pad(episode.positions, ((0, 0), (0, 1)))
    wider = Episode.from_arrays(episode.times, wide, [*episode.names, "gripper_command"])
    wider = replace(wider, actions=episode.actions)
    sim = replay(mujoco.MjModel.from_xml_string(arm_xml()), wider)
    assert sim.names == episode.names == within(wider, sim.names).names
    assert compare(within(wider, sim.names), sim, None, "none").arms.keys() == {"arm"}


def test_the_command_writes_the_replayed_episode_and_its_divergence(tmp_path, refused):
    (tmp_path / "model.xml").write_text(OTHER)
    write_episode(record(arm_xml(), 1, 2.0), tmp_path / "real.npz")
    arguments = [str(tmp_path / "model.xml"), str(tmp_path / "real.npz"), "--out", str(tmp_path / "out")]
    assert main(["replay-actions", *arguments]) == 0
    assert json.loads((tmp_path / "out" / "comparison.json").read_text())["overall"]["rmse"]["mean"] > 0
    assert read_episode(tmp_path / "out" / "episode.npz").names == ("turn", "shoulder", "elbow")
    assert "there is no model" in refused("replay-actions", tmp_path / "none.xml", *arguments[1:])


def test_an_arm_stands_where_its_base_was_aligned_and_a_floating_gripper_stays():
    arm = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body name="gripper"><geom size=".1"/><body><joint/><geom size=".1"/></body></body>'
        "</worldbody></mujoco>"
    )
    base = np.array([[0, -1, 0, 0.4], [1, 0, 0, -0.3], [0, 0, 1, 0.1], [0, 0, 0, 1.0]])
    moved = at_base(arm, base)
    data = mujoco.MjData(moved)
    mujoco.mj_forward(moved, data)
    assert np.allclose(data.body("gripper").xpos, base[:3, 3])
    assert np.allclose(data.body("gripper").xmat.reshape(3, 3), base[:3, :3])
    assert not np.allclose(arm.body("gripper").pos, base[:3, 3])
    free = '<mujoco><worldbody><body name="gripper"><freejoint/><geom size=".1"/></body></worldbody></mujoco>'
    floating = mujoco.MjModel.from_xml_string(free)
    assert at_base(floating, base) is floating


FOLDER = Path(__file__).parents[2] / "sample_scenes" / "episodes"


def test_the_sample_pair_is_labelled_as_simulated_and_diverges_in_both_arms():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 1_000_000
    (label,) = read_episode(FOLDER / "real.npz").events
    assert "simulated stand-in" in label["text"]
    assert json.loads((FOLDER / "label.json").read_text())["real.npz"] == label["text"]
    real, sim = read_episode(FOLDER / "real.npz"), read_episode(FOLDER / "sim.npz")
    result = compare(real, sim, load_robot(FOLDER / "robot.xml"))
    assert set(result.arms) == {"left", "right"} and result.onset is not None
    model = mujoco.MjModel.from_xml_path(str(FOLDER / "robot.xml"))
    assert abs(replay(model, sim).positions - sim.positions).max() < 0.01
