"""Physics, recordings and layouts: seeking is exact, pushing moves bodies, a recording shows its poses."""

import mujoco
import numpy as np
import pytest

from studio.viewer.motion import Layout, LivePhysics, RecordedMotion, Trajectory, ViewerError


def test_seeking_back_and_running_again_gives_the_same_bits(twin):
    physics = LivePhysics(twin)
    physics.step(100)
    physics.seek(0.1)
    start = physics.state()
    physics.step(400)
    first = physics.state()
    physics.seek(0.1)
    assert np.array_equal(physics.state(), start)
    physics.step(400)
    assert np.array_equal(physics.state(), first)


def test_seeking_back_keeps_the_newest_state(twin):
    physics = LivePhysics(twin)
    physics.step(333)
    last, time = physics.state(), physics.time
    physics.seek(0.2)
    physics.seek(99)
    assert physics.time == time and np.array_equal(physics.state(), last)


def test_every_time_sought_was_simulated(twin):
    physics = LivePhysics(twin)
    physics.step(500)
    for wanted in np.linspace(0, 1, 23):
        physics.seek(wanted)
        assert wanted - 0.0171 <= physics.time <= wanted + 1e-9


def test_stepping_from_an_earlier_time_drops_later_states(twin):
    physics = LivePhysics(twin)
    physics.step(500)
    physics.seek(0.5)
    physics.step(1)
    assert physics.span[1] == physics.time < 0.51


def test_pushing_drags_a_body_to_the_mouse_and_not_the_others(twin):
    physics = LivePhysics(twin)
    physics.step(300)
    before = physics.data.xpos.copy()
    physics.push(twin.body("cube").id, np.zeros(3), before[twin.body("cube").id] + [0.08, -0.08, 0])
    physics.step(500)
    moved = np.linalg.norm(physics.data.xpos - before, axis=1)
    assert moved[twin.body("cube").id] > 0.06
    assert moved[twin.body("carton").id] < 0.002
    physics.release()
    physics.step(500)
    assert not physics.data.xfrc_applied.any()


def test_diverging_physics_is_reset_with_a_notice(twin):
    physics = LivePhysics(twin)
    physics.step(10)
    physics.data.qvel[:] = 1e12
    with pytest.raises(ViewerError, match=r"unstable.*reset to its start"):
        physics.step(10)
    assert physics.time == 0


def test_a_recording_shows_recorded_poses_only(twin):
    rng = np.random.default_rng(1)
    times = np.cumsum(rng.uniform(0.01, 0.05, 40))
    qpos = np.tile(mujoco.MjData(twin).qpos, (40, 1)) + rng.normal(size=(40, twin.nq)) * 0.01
    recording = RecordedMotion(twin, Trajectory(times, qpos))
    for at in (0, 17, 39):
        recording.seek(times[at])
        assert np.array_equal(recording.data.qpos, qpos[at])
        recording.seek(times[at] + 0.004)
        assert np.array_equal(recording.data.qpos, qpos[at])
    recording.seek(times[5])
    recording.step(1)
    assert recording.time == times[6] and not recording.finished


def test_playing_a_recording_interpolates_and_ends_on_its_last_pose(twin):
    qpos = np.tile(twin.qpos0, (3, 1))
    qpos[1:, 0] += 0.1, 0.1
    qpos[1:, 3:7] = np.sqrt(0.5), 0, 0, np.sqrt(0.5)
    recording = RecordedMotion(twin, Trajectory(np.array([0, 1.0, 2.0]), qpos))
    recording.advance(0.5)
    assert recording.data.qpos[0] == pytest.approx(twin.qpos0[0] + 0.05)
    assert recording.data.qpos[3:7] == pytest.approx([np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8)])
    recording.advance(9)
    assert recording.finished and np.array_equal(recording.data.qpos, qpos[-1])


@pytest.mark.parametrize(
    ("times", "qpos", "message"),
    [
        (np.zeros(0), np.zeros((0, 3)), "at least one time"),
        (np.zeros(2), np.zeros((3, 3)), "one row of poses for each"),
        (np.arange(2.0), np.zeros((2, 3)), "do not belong together"),
    ],
)
def test_a_mismatched_recording_gives_a_reason(twin, times, qpos, message):
    with pytest.raises(ViewerError, match=message):
        RecordedMotion(twin, Trajectory(times, qpos))


def test_a_dragged_object_follows_the_mouse_and_rests_on_the_table(twin):
    layout = Layout(twin, twin.qpos0)
    before = {name: layout.data.body(name).xpos.copy() for name in ("cube", "ball", "carton")}
    assert layout.dragged_positions == {}
    layout.push(twin.body("ball").id, np.array([0, 0, 0.01]), np.array([-0.2, 0.15, 0.4]))
    assert layout.data.body("ball").xpos == pytest.approx([-0.2, 0.15, 0.03], abs=1e-6)
    assert layout.dragged_positions == {"ball": pytest.approx((-0.2, 0.15))}
    layout.advance(1.0)
    for name in ("cube", "carton"):
        assert layout.data.body(name).xpos == pytest.approx(before[name])
    layout.reset()
    assert layout.dragged_positions == {} and layout.data.body("ball").xpos == pytest.approx(before["ball"])
    with pytest.raises(ViewerError, match="is fixed"):
        layout.push(twin.body("lamp").id, np.zeros(3), np.zeros(3))
