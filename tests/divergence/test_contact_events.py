"""Grasp, lift and place by the contacts of the object that is held."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.divergence import EpisodeError, read_episode, rollout_episode, write_episode
from pipeline.divergence.comparison import compare
from pipeline.divergence.episode import Episode
from pipeline.divergence.events import find_events

XML = """<mujoco><worldbody><geom type="plane" size="1 1 .1"/>
  <body name="cube" pos="0 0 .02"><freejoint/><geom type="box" size=".02 .02 .02"/></body>
  <body name="hand" pos="0 0 .05"><joint name="z" type="slide" axis="0 0 1"/><geom type="sphere" size=".01"/></body>
</worldbody><actuator><position joint="z"/><position name="grip" joint="z"/></actuator></mujoco>"""
STEP = 0.02
TIMES = np.arange(0, 8, STEP)
TOUCH, LIFT, PLACE, LEAVE = 1.0, 2.0, 5.0, 6.0
HEIGHT_M = 0.1


def pick_and_place(speed: float, meshes: Path | None) -> Episode:
    """A hand that comes down on a cube, lifts it slowly, and puts it down; it closes when it touches."""
    lift = np.clip((TIMES - LIFT) * speed, 0, HEIGHT_M)
    lift = np.minimum(lift, np.clip((PLACE - TIMES) * speed, 0, HEIGHT_M))
    held = (TIMES >= TOUCH) & (TIMES < LEAVE)
    hand = np.where(held, lift - 0.0005, 0.1)  # presses on the cube while it holds
    cube = np.column_stack([np.zeros((len(TIMES), 2)), 0.0199 + lift, np.tile([1.0, 0, 0, 0], (len(TIMES), 1))])
    actions = np.column_stack([hand, held.astype(float)])
    return rollout_episode(TIMES, np.column_stack([cube, hand]), actions, XML, (), "rollout", meshes)


def times_of(episode: Episode, by_contacts: bool = True) -> dict[str, float]:
    (arm,) = find_events(episode, by_contacts=by_contacts).values()
    return {event.name: event.time for event in arm.events("arm")}


@pytest.mark.parametrize("speed", [0.05, 0.2, 1.0])
def test_contacts_tell_of_grasp_lift_and_place_within_one_sample_at_any_speed(tmp_path, speed):
    found = times_of(pick_and_place(speed, tmp_path))
    for name, time in (("grasp", TOUCH), ("lift", LIFT), ("place", PLACE)):
        assert found[name] == pytest.approx(time, abs=1.6 * STEP), name
    by_height = times_of(pick_and_place(speed, None))
    assert by_height["lift"] - found["lift"] == pytest.approx(0.01 / speed, abs=2.6 * STEP)


def test_contacts_survive_a_file_and_are_refused_in_another_shape(tmp_path):
    written = pick_and_place(0.2, tmp_path)
    write_episode(written, tmp_path / "one.npz")
    read = read_episode(tmp_path / "one.npz")
    np.testing.assert_array_equal(read.contacts["cube"], written.contacts["cube"])
    assert times_of(read) == times_of(written)
    write_episode(replace(written, contacts={"cube": written.contacts["cube"][:9]}), tmp_path / "short.npz")
    with pytest.raises(EpisodeError, match="contacts of cube"):
        read_episode(tmp_path / "short.npz")


def test_events_of_two_episodes_come_from_contacts_only_if_both_have_them(tmp_path):
    known, unknown = pick_and_place(0.05, tmp_path), pick_and_place(0.05, None)
    (real, sim) = [arm.holds[0].lift for one in (known, unknown) for arm in find_events(one).values()]
    assert real is not None and sim is not None and sim - real > 0.1
    (result,) = compare(known, unknown, None, "clock").arms.values()
    assert result.real.holds[0].lift == result.sim.holds[0].lift == sim
    xml = XML.replace("<worldbody>", '<asset><mesh name="m" file="gone.obj"/></asset><worldbody>', 1)
    episode = rollout_episode(TIMES[:2], np.tile(np.eye(8)[3], (2, 1)), np.zeros((2, 2)), xml, (), "r", tmp_path)
    assert episode.contacts == {}
