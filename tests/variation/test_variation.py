"""A condition's id gives the same start everywhere, and a planted cause of failure ranks first."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import drawn_scene as make
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.assets import Library
from pipeline.scene.scene_files import read_scene, write_scene
from pipeline.simulation import Program, Report, kit
from pipeline.simulation.physics import Physics
from pipeline.simulation.run_record import RunRecord
from pipeline.variation import Outcome, VariationError, VariationStudy, by_oracle, parse_id
from pipeline.variation import variation_files as files
from pipeline.variation.condition import SHIFT_M, SIZES, draw, kept_range
from pipeline.variation.sensitivity import effects, logistic, wilson
from pipeline.variation.twin_uncertainty import uncertain_ranges
from pipeline.variation.varied_scene import varied_scene

PLACES = {"red_cube": (-0.15, 0.0), "green_cube": (0.0, 0.1), "blue_cube": (0.15, 0.0)}


@pytest.fixture(scope="module")
def library() -> Library:
    return Library.open()


@pytest.fixture(scope="module")
def twin(tmp_path_factory, library) -> Path:
    placements = []
    for number, (name, at) in enumerate(PLACES.items(), 1):
        a = library[name]
        placements.append(make.placement(
            a.mesh, name, at, size=a.size, number=number, asset_id=a.id, collision=a.collision, mass=a.mass,
            friction=a.friction, category=a.category, shape="cube", mass_range=a.mass_range,
            friction_range=a.friction_range,
        ))  # fmt: skip
    write_scene(make.scene(*placements), folder := tmp_path_factory.mktemp("twin"))
    return folder


def study(twin: Path, library: Library | None, count: int = 12) -> VariationStudy:
    return VariationStudy(twin, tuple(PLACES), library, 5, count)


def test_the_same_id_gives_the_same_start_in_another_process(twin, library):
    here = [start.digest for start in study(twin, library, 4).starts()]
    script = (
        "import sys; from pathlib import Path; from pipeline.assets import Library\n"
        "from pipeline.variation import VariationStudy\n"
        f"s = VariationStudy(Path(sys.argv[1]), {tuple(PLACES)!r}, Library.open(), 5, 4)\n"
        "print(*(one.digest for one in s.starts()))"
    )
    command, environment = [sys.executable, "-c", script, str(twin)], {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.stdout.split() == here and len(set(here)) == 4, done.stderr


def test_conditions_stay_within_the_kept_ranges_and_their_factors_are_independent(twin, library):
    scene = {p.name: p for p in read_scene(twin).placements}
    values = [study(twin, library).condition(f"9-{number:04d}").values for number in range(300)]
    for name, p in scene.items():
        for factor, (low, high) in {
            "mass": kept_range(p.mass, p.mass_range), "friction": kept_range(p.friction, p.friction_range),
            "size": SIZES, "x": (-SHIFT_M, SHIFT_M),
        }.items():  # fmt: skip
            drawn = np.array([value[f"{name}.{factor}"] for value in values])
            assert low <= drawn.min() < low + 0.1 * (high - low) and high - 0.1 * (high - low) < drawn.max() <= high
        kinds = {value[f"{name}.asset"] for value in values}
        assert len(kinds) > 2 and all(library[kind].category == "cube" for kind in kinds)
    assert kept_range(2.0, (0.0, 0.0)) == pytest.approx((1.4, 2.6))


@pytest.mark.parametrize("low, high, least, most", [(0.97, 1.03, 0.97, 1.03), (0.5, 1.02, 0.9, 1.02),
                                                    (0.1, 3, 0.9, 1.1), (1.2, 2.0, 0.9, 1.1)])  # fmt: skip
def test_sizes_vary_within_a_models_range_of_lengths_unless_it_leaves_the_measured_one_out(
    low, high, least, most, twin, library
):
    scene = read_scene(twin)
    said = [replace(p, length_range=(low * max(p.size), high * max(p.size))) for p in scene.placements]
    scene = replace(scene, placements=tuple(said))
    drawn = np.array([draw(scene, tuple(PLACES), None, f"9-{n:04d}").values["red_cube.size"] for n in range(200)])
    gap = 0.05 * (most - least)
    assert least <= drawn.min() < least + gap and most - gap < drawn.max() <= most


def test_factors_of_conditions_are_independent(twin, library):
    rows = [{"values": study(twin, library).condition(f"2-{number:04d}").values} for number in range(400)]
    names, table = files.factor_table(rows)
    correlation = np.corrcoef(table.T) - np.eye(len(names))
    assert np.abs(correlation).max() < 0.2  # 3.9 standard deviations of 400 draws


def test_a_pair_of_conditions_differs_in_the_objects_only_and_only_by_what_is_uncertain_of_them(
    twin, library, tmp_path
):
    chosen, scene = study(twin, library), read_scene(twin)
    weighed = replace(scene.placements[0], mass_source="person", friction_source="person", misfit=0.03)
    scene = replace(scene, placements=(weighed, *scene.placements[1:]))
    chosen.scene = scene
    drawn = []
    for number in range(200):
        measured, uncertain = (chosen.condition(f"7-{number:04d}{kind}").values for kind in "mu")
        assert measured.keys() == uncertain.keys() and not any("asset" in name for name in measured)
        changed = {name for name in measured if measured[name] != uncertain[name]}
        assert changed and all(name.partition(".")[0] in PLACES for name in changed)
        usual = chosen.condition(f"7-{number:04d}").values
        assert all(usual[name] == measured[name] for name in measured if name.partition(".")[0] not in PLACES)
        drawn.append(uncertain)
    for p in scene.placements:
        for name, (low, middle, high) in uncertain_ranges(p, scene).items():
            assert measured[f"{p.name}.{name}"] == middle and low <= middle <= high
            values = [one[f"{p.name}.{name}"] for one in drawn]
            assert low <= min(values) <= low + 0.1 * (high - low) and high - 0.1 * (high - low) <= max(values) <= high
    ranges = uncertain_ranges(weighed, scene)
    assert len(set(ranges["mass"])) == 1 and ranges["x"] == (-0.03, 0.0, 0.03)  # its own misfit is the larger one
    poses = [p.world_from_object.pos for p in varied_scene(scene, chosen.condition("7-0000m"), library).placements]
    np.testing.assert_array_equal(poses[: len(PLACES)], [p.world_from_object.pos for p in scene.placements])


def test_a_varied_object_stands_free_on_the_table_and_another_twins_start_is_refused(twin, library, tmp_path):
    for number in range(6):
        folder = tmp_path / str(number)
        study(twin, library).write(f"5-{number:04d}", folder)
        state = Physics(kit.Simulation(kit.Scene.load(folder), 0).bench()).state()
        assert all(len(pair & {"table", "floor"}) for pair in state.touching), state.touching
        for name in PLACES:
            assert abs(state[name].bottom) < 0.002
    start = study(twin, library).write("0-0001", tmp_path / "first")
    assert study(twin, library).write_again("0-0001", tmp_path / "second", start.digest) == start
    with pytest.raises(VariationError, match="another twin"):
        study(twin, library).write_again("0-0002", tmp_path / "third", start.digest)


def test_success_that_depends_on_one_mass_is_explained_by_it(twin, library, tmp_path):
    chosen = study(twin, library, 40)
    masses = {id: float(chosen.condition(id).values["red_cube.mass"]) for id in chosen.ids}
    middle = float(np.median(list(masses.values())))

    class HeavyFails:
        def run(self, program, project_dir, seeds=(0,), limits=None, **options):
            rows = json.loads((project_dir / "scene.json").read_text())["placements"]
            mass = next(row["mass"] for row in rows if row["name"] == "red_cube")
            return Report(reward=(float(mass < middle),), evidence={"why": "too heavy"}), None

    outcomes = {one.id: one for one in chosen.run(by_oracle(Program("", ""), HeavyFails(), "gripper"), chosen.ids)}
    rows = [{"id": id, "start": "", "values": dict(chosen.condition(id).values)} for id in chosen.ids]
    data = files.summarise(rows, outcomes, "gripper")
    files.write_variation(data, rows, tmp_path)
    assert data["success"]["successes"] == 20 and data["effects"][0]["factor"] == "red_cube.mass"
    assert data["effects"][0]["matters"] and data["effects"][0]["change"] < -0.5
    assert {row["id"] for row in data["failures"]} == {id for id, mass in masses.items() if mass >= middle}
    report = (tmp_path / "report.html").read_text()
    assert "red_cube.mass" in report and "too heavy" in report


def test_bad_input_is_refused_in_one_line(twin, tmp_path, refused, library):
    assert "is not a project" in refused("vary", twin, "--out", tmp_path / "out") and not (tmp_path / "out").exists()
    for id in ("7", "0-1", "a-0001", "0-0001-2", ""):
        with pytest.raises(VariationError, match="no id of a condition"):
            parse_id(id)
    with pytest.raises(VariationError, match="number of conditions"):
        study(twin, library, 0)
    for row in ({}, [], {"id": [], "start": "", "values": {}}, {"id": "a", "start": "", "values": {"x": {}}}):
        (tmp_path / files.CONDITIONS).write_text(f"{json.dumps(row)}\n")
        with pytest.raises(VariationError, match=r"cannot be read \(.*\); choose"):
            files.read_conditions(tmp_path)
    for row in ({"id": {}, "success": True, "reward": 1, "reason": ""}, {"id": "a", "reward": 1}, None):
        files.outcomes_path(tmp_path, "arm").write_text(f"{json.dumps(row)}\n")
        with pytest.raises(VariationError, match="cannot be read"):
            files.read_outcomes(tmp_path, "arm")


def test_what_a_robot_did_is_kept_where_it_failed(tmp_path):
    rollout = RunRecord(np.arange(3.0), np.ones((3, 7)), np.zeros((3, 2)), xml="<mujoco/>")
    failed, solved = Outcome("0-0001", False, 0.5, "dropped", rollout), Outcome("0-0002", True, 1.0, "", rollout)
    for outcome in (failed, solved):
        files.append_outcome(tmp_path, "arm", outcome)
    assert list(files.read_outcomes(tmp_path, "arm").values()) == [failed, solved]
    kept = files.read_rollout(files.rollout_path(tmp_path, "arm", failed.id))
    assert kept.xml == rollout.xml
    for name in ("times", "qpos", "actions"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(rollout, name))
    with pytest.raises(VariationError, match="was not recorded"):
        files.read_rollout(files.rollout_path(tmp_path, "arm", solved.id))
    path = files.rollout_path(tmp_path, "arm", failed.id)
    files.write_rollout(RunRecord(np.arange(2.0), np.ones((3, 7)), np.zeros((3, 2))), path)
    with pytest.raises(VariationError, match="do not fit"):
        files.read_rollout(path)
    path.write_bytes(b"PK")
    with pytest.raises(VariationError, match="cannot be read"):
        files.read_rollout(path)


FACTORS = 16


def drawn(seed: int, count: int = 100, cause: str = "none") -> tuple[list[str], np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    values = random.uniform(0.5, 1.5, (count, FACTORS))
    values[:, 9] = random.uniform(size=count) < 0.25
    z = (values[:, 3] - 1) / 0.29
    chance = {"none": np.full(count, 0.7), "linear": 1 / (1 + np.exp(-1 + 2 * z)), "window": 0.9 - 0.6 * (abs(z) > 1)}
    return [f"f{i}" for i in range(FACTORS)], values, random.uniform(size=count) < chance[cause]


@pytest.mark.parametrize("cause", ["linear", "window"])
def test_a_planted_cause_ranks_first_19_of_20_times(cause):
    first = [effects(*drawn(seed, cause=cause))[0] for seed in range(20)]
    assert sum(one.factor == "f3" and one.matters for one in first) >= 19


def test_without_a_cause_the_alarm_is_rare_an_effect_has_its_size_and_no_outcomes_break_the_fit():
    alarms = sum(effects(*drawn(1000 + seed))[0].matters for seed in range(40))
    assert alarms <= 5  # 5 % of 40 is 2
    effect = effects(*drawn(3, 400, "linear"))[0]
    assert effect.low_success > 0.9 and effect.high_success < 0.4
    assert effect.change_low < effect.change == pytest.approx(effect.high_success - effect.low_success)
    assert effect.change < effect.change_high < 0
    names, values, _ = drawn(0)
    assert effects(names, values, np.ones(100, bool)) == [] and effects(names, values, np.arange(100) > 1) == []
    assert effects([], np.zeros((0, 0)), np.zeros(0, bool)) == []
    x = np.linspace(-1, 1, 30)
    beta, covariance = logistic(np.stack([np.ones(30), x], axis=1), (x > 0).astype(float))
    assert np.isfinite(beta).all() and beta[1] > 2 and np.isfinite(covariance).all()


@given(st.integers(1, 300), st.data())
def test_wilson_intervals_hold_their_share_mirror_and_are_as_wide_as_by_their_formula(count, data):
    successes = data.draw(st.integers(0, count))
    share, mirrored = wilson(successes, count), wilson(count - successes, count)
    assert 0 <= share.low <= share.value <= share.high <= 1 and share.low == pytest.approx(1 - mirrored.high)
    for end in (share.low, share.high):  # the roots of its quadratic
        assert (end - successes / count) ** 2 == pytest.approx(1.959963985**2 * end * (1 - end) / count, abs=1e-9)
