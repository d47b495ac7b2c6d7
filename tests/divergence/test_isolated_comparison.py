"""Comparisons in a confined process: what comes back is what the command computes, and drawn where the robot is."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trimesh
import written_logs
from arm_episodes import rounded

from pipeline.divergence import EpisodeError, compare, load_robot, read_episode, to_json
from pipeline.divergence.confined import ComparisonProgress, ComparisonSources, compare_isolated, isolated_comparison
from pipeline.divergence.confined.isolated_comparison import packed, unpacked
from pipeline.resources import SAMPLE_SCENES
from pipeline.untrusted.worker_process import WorkerCrashedError

SAMPLE = SAMPLE_SCENES / "episodes"
REAL, SIM, ROBOT = SAMPLE / "real.npz", SAMPLE / "sim.npz", SAMPLE / "robot.xml"


def result_of(sources: ComparisonSources) -> ComparisonProgress:
    return list(compare_isolated(sources, threading.Event()))[-1]


@pytest.fixture(scope="module")
def sample() -> ComparisonProgress:
    """The sample pair, compared in a process of its own."""
    return result_of(ComparisonSources(REAL, SIM, ROBOT))


def test_the_result_is_that_of_the_command_and_the_robots_are_drawn_where_kinematics_has_them(sample):
    real, sim = read_episode(REAL), read_episode(SIM)
    comparison = compare(real, sim, load_robot(ROBOT))
    assert sample.result is not None
    assert rounded(sample.result["comparison"]) == rounded(to_json(comparison))
    curve = sample.result["curves"]["rmse_left"]
    assert np.allclose(curve["y"], comparison.column("rmse_left"), atol=1e-6)
    assert list(sample.result["joints"]) == list(real.names)
    playback, robot = sample.playback, load_robot(ROBOT)
    assert playback is not None and not playback.note
    for path, poses in ((REAL, playback.real), (SIM, playback.sim)):
        episode = read_episode(path)
        for number, (name, arm) in enumerate(episode.arms.items()):
            times = np.clip(playback.times, episode.times[0], episode.times[-1])
            tool, _ = robot.pose(name, arm, episode.at(times, episode.columns(arm.joints)))
            hand = poses[:, 5 * number + 4, :3]  # each arm: base, upper, fore, hand, finger
            assert np.allclose(np.linalg.norm(tool - hand, axis=1), 0.08, atol=1e-5)


def test_meshes_beside_the_robots_model_are_drawn_and_links_without_theirs_are_sticks(tmp_path: Path):
    text = ROBOT.read_text().replace("<worldbody>", '<asset><mesh name="m" file="lost.stl"/></asset><worldbody>')
    (tmp_path / "robot.xml").write_text(text.replace('<geom size=".03"', '<geom type="mesh" mesh="m"'))
    drawn = result_of(ComparisonSources(REAL, SIM, tmp_path / "robot.xml")).playback
    assert drawn is not None and "sticks" in drawn.note
    assert {shape.kind for shape in drawn.shapes} == {"capsule", "sphere"}
    (tmp_path / "meshes").mkdir()
    trimesh.creation.box((0.1, 0.1, 0.1)).export(tmp_path / "meshes" / "hand.stl")
    text = ROBOT.read_text().replace(
        "<worldbody>", '<asset><mesh name="m" file="meshes/hand.stl"/></asset><worldbody>', 1
    )  # fmt: skip
    (tmp_path / "robot.xml").write_text(text.replace('<geom size=".03"', '<geom type="mesh" mesh="m"'))
    drawn = result_of(ComparisonSources(REAL, SIM, tmp_path / "robot.xml")).playback
    assert drawn is not None and not drawn.note
    assert len(drawn.meshes) == 1 and sum(shape.kind == "mesh" for shape in drawn.shapes) == 2


def test_a_log_with_several_candidates_names_them_and_takes_the_chosen_ones(tmp_path: Path):
    with written_logs.log(tmp_path, "mcap") as log:
        for row in range(50):
            time = written_logs.nanoseconds(row / 25)
            log.joints("/arm", time, ("a",), (0.1 * row,))
            log.joints("/copy", time, ("a",), (0.2 * row,))
            log.numbers("/first", time, (1.0,))
            log.numbers("/second", time, (2.0,))
    sim = tmp_path / "sim.csv"
    sim.write_text("t,a\n" + "".join(f"{row / 25},{0.2 * row}\n" for row in range(50)))
    sources = ComparisonSources(tmp_path / "mcap", sim)
    seen: list[ComparisonProgress] = []
    with pytest.raises(EpisodeError, match="joint a is on /arm and on /copy; choose a topic"):
        seen.extend(compare_isolated(sources, threading.Event()))
    seen += [
        step for step in compare_isolated(replace(sources, real_selection=("/copy", "/second")), threading.Event())
    ]
    choices = {"real": {"joints": ["/arm", "/copy"], "commands": ["/first", "/second"]}, "sim": {}}
    assert [step.choices for step in seen if step.choices] == [choices] * 2
    result = seen[-1].result
    assert seen[-1].playback is None, "without a robot there is nothing to draw"
    assert result is not None and max(result["curves"]["rmse_overall"]["y"]) < 1e-9
    assert "joints from /copy; commands from /second" in result["notes"][0]


def test_a_broken_episode_is_one_line_and_a_file_beside_the_given_ones_is_not_read(tmp_path: Path):
    broken = tmp_path / "broken.csv"
    broken.write_text("t,a\n0,0\n1,nan\n")
    with pytest.raises(EpisodeError) as refused:
        result_of(ComparisonSources(REAL, broken))
    assert "\n" not in str(refused.value) and "broken.csv" in str(refused.value)
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.xml").write_text('<mujocoinclude><worldbody><body name="secret"/></worldbody></mujocoinclude>')
    given = tmp_path / "given"
    given.mkdir()
    text = ROBOT.read_text().replace("<worldbody>", '<include file="../secret/key.xml"/><worldbody>', 1)
    (given / "robot.xml").write_text(text)
    with pytest.raises(EpisodeError, match=r"robot\.xml"):
        result_of(ComparisonSources(REAL, SIM, given / "robot.xml"))


def test_a_stop_ends_it_without_a_result():
    stop = threading.Event()
    steps = compare_isolated(ComparisonSources(REAL, SIM), stop)
    assert next(steps).message
    stop.set()
    assert all(step.result is None for step in steps)


def test_arrays_survive_the_way_to_the_studio():
    for array in (np.arange(12, dtype="<f4").reshape(3, 4), np.arange(6, dtype="<i4").reshape(2, 3)):
        assert np.array_equal(unpacked(json.loads(json.dumps(packed(array)))), array)


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [2, 4]}, {"shape": [-3, -4]}, {"type": "|O8"}, {"data": "!"},
        {"data": packed(np.full((3, 4), np.nan))["data"]},
    ],
)  # fmt: skip
def test_an_array_that_is_none_is_refused(change: dict):
    with pytest.raises(ValueError):
        unpacked(packed(np.zeros((3, 4))) | change)


@pytest.mark.parametrize("line", [b"[]\n", b"{}\n", b'{"mesh": {}}\n', b'{"result": {}, "playback": {"times": 1}}\n'])
def test_nonsense_of_the_process_is_refused(monkeypatch: pytest.MonkeyPatch, line: bytes):
    monkeypatch.setattr(isolated_comparison, "run_worker", lambda *_: iter([line]))
    with pytest.raises(EpisodeError, match="nonsense"):
        result_of(ComparisonSources(REAL, SIM))


def test_a_process_that_was_killed_is_one_line(monkeypatch: pytest.MonkeyPatch):
    def crash(*_):
        raise WorkerCrashedError

    monkeypatch.setattr(isolated_comparison, "run_worker", crash)
    with pytest.raises(EpisodeError, match="too much memory or time"):
        result_of(ComparisonSources(REAL, SIM))
