"""Objects of a drawn scene are followed from frame to frame; noise and hands are measured by bench.tracking."""

from dataclasses import replace

import drawn_scene
import mujoco
import numpy as np
import pytest

from pipeline.divergence import Episode, read_episode
from pipeline.export.recorded_scene import recorded_rollouts
from pipeline.project import Project
from pipeline.scene.scene_files import write_scene
from pipeline.solving import save_model
from pipeline.store import read_json
from pipeline.tracking.following import follow
from pipeline.tracking.instant import project_at
from pipeline.tracking.motion import free_joint, joint_positions
from pipeline.tracking.track import STATES, TrackError
from pipeline.tracking.track_files import (
    newest_track,
    read_track,
    track_to_json,
    with_objects,
    write_episode_of,
    write_track,
)

RATE = 15.0
LIFT = [(0.0, 0.0)] * 3 + [(0.0, h) for h in (0.02, 0.05, 0.08, 0.1)]
CARRY = [(x, 0.1) for x in (0.03, 0.07, 0.1, 0.12)]
LOWER = [(0.12, h) for h in (0.07, 0.04, 0.02, 0.01)] + [(0.12, 0.0)] * 6


def photographs(scene, offsets):
    """Return the frames of a scene whose first object is shifted along x and z; None takes it away."""
    shots = []
    for number, offset in enumerate(offsets):
        moved, *others = scene.placements
        if offset is not None:
            start = moved.world_from_object
            shifted = replace(start, pos=start.pos + np.array([offset[0], 0, offset[1]]))
            others = [replace(moved, world_from_object=shifted), *others]
        shots.append((number / RATE, drawn_scene.photograph(replace(scene, placements=tuple(others)))[0], None))
    return shots


def followed(scene, shots):
    steps = follow(scene, shots)
    with pytest.raises(StopIteration) as end:
        while next(steps):
            pass
    return end.value.value


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    folder = tmp_path_factory.mktemp("meshes")
    box = drawn_scene.placement(drawn_scene.box(folder), "carried", at=(-0.1, 0.0), number=1, rgb=(200, 40, 40))
    can = drawn_scene.placement(drawn_scene.can(folder), "can", at=(0.05, 0.1), number=2, rgb=(40, 60, 200))
    return drawn_scene.scene(box, can)


@pytest.fixture(scope="module")
def shots(scene):
    return photographs(scene, LIFT + CARRY + LOWER)


@pytest.fixture(scope="module")
def track(scene, shots):
    return followed(scene, shots)


def test_a_carried_object_is_followed_with_its_events_others_stay_and_one_taken_away_is_lost_until_back(scene, track):
    expected = track.poses[0, 0, :3] + np.array([(x, 0, z) for x, z in LIFT + CARRY + LOWER])
    moving = track.states[:, 0] == STATES.index("tracked")
    assert moving.sum() > 8 and np.abs(track.poses[moving, 0, :3] - expected[moving]).max() < 0.003
    assert np.abs(track.poses[-1, 0, :3] - expected[-1]).max() < 0.003
    assert (track.states[:, 1] == STATES.index("still")).all() and np.ptp(track.poses[:, 1], axis=0).max() == 0
    away = followed(scene, photographs(scene, [(0.0, 0.0)] * 2 + [None] * 4 + [(0.15, 0.0)] * 3))
    assert [away.state(i, 0) for i in (1, 3, 5)] == ["still", "lost", "lost"]
    assert away.lost_since(5, 0) == pytest.approx(2 / RATE, abs=1.5 / RATE) and away.lost_since(1, 0) is None
    assert away.state(8, 0) != "lost" and abs(away.poses[8, 0, 0] - 0.05) < 0.003
    picked, placed = (e for e in track.events if e.kind in ("picked", "placed", "fell"))
    assert (picked.kind, picked.object, picked.on) == ("picked", "carried", "table")
    assert (placed.kind, placed.on) == ("placed", "table")
    assert abs(picked.time - 3 / RATE) < 0.3 and abs(placed.time - (len(LIFT + CARRY) + 4) / RATE) < 0.3


def test_a_track_is_read_back_as_it_was_written_and_moves_the_twin_that_was_followed(scene, track, tmp_path):
    write_scene(scene, tmp_path)
    write_track(track, tmp_path, tmp_path, "drawn")
    back = read_track(tmp_path)
    assert back.names == track.names and (back.poses == track.poses).all() and (back.states == track.states).all()
    assert (back.events, back.doubts, back.numbers) == (track.events, track.doubts, tuple(range(len(track.times))))
    model = mujoco.MjModel.from_xml_path(str(save_model((tmp_path / "twin.xml").read_text(), tmp_path, "track")))
    moves, first = joint_positions(model, back), free_joint(model, "carried")
    assert (moves[:, first : first + 7] == track.poses[:, 0]).all() and np.ptp(moves, axis=0)[:2].max() > 0.1
    carried, can = track_to_json(track, "drawn")["objects"]
    assert can["states"]["still"] == 1 and carried["lost_since"] is None
    (tmp_path / "track.npz").write_bytes(b"PK nothing")
    with pytest.raises(TrackError, match="track the recording again"):
        read_track(tmp_path)


def test_a_frame_of_another_table_and_a_single_frame_are_refused_and_a_camera_that_moves_is_told_or_doubted(
    scene, shots
):
    with pytest.raises(TrackError, match="two frames"):
        followed(scene, shots[:1])
    with pytest.raises(TrackError, match="0 of 2 objects are where it has them"):
        followed(scene, [(0.0, replace(shots[0][1], depth=np.full_like(shots[0][1].depth, 2.0)), None), shots[1]])
    cameras = [drawn_scene.camera_pose(eye=(0.1 + 0.02 * i, -0.6, 0.5)) for i in range(9)]
    seen = [drawn_scene.photograph(replace(scene, world_from_camera=one))[0] for one in cameras]
    told = followed(scene, [(i / RATE, *both) for i, both in enumerate(zip(seen, cameras, strict=True))])
    assert not told.doubts and (told.states == STATES.index("still")).all()
    assert followed(scene, [(i / RATE, frame, None) for i, frame in enumerate(seen)]).doubts


def test_an_instant_becomes_a_project_with_its_poses_and_masks(scene, shots, track, tmp_path):
    source, index = Project.create(tmp_path / "source", shots[0][1]), len(LIFT) + 1
    write_scene(scene, source.folder)
    project = project_at(source, track, shots[index][1], index, tmp_path / "instant")
    found = {p.name: p for p in project.scene().placements}
    assert np.abs(found["carried"].world_from_object.pos - track.poses[index, 0, :3]).max() < 0.003
    assert found["carried"].prop > 0.05 and found["can"].prop == 0
    assert {s.id for s in project.segments()} == {1, 2}
    assert project.stages()["scene"] == "done" and len(project.active_decisions("move")) == 2


def test_a_recording_with_the_robots_log_is_exported_and_compared_and_without_it_no_former_one_is(
    scene, shots, track, tmp_path
):
    source = Project.create(tmp_path / "source", shots[0][1])
    write_scene(scene, source.folder)
    folder = source.folder / "tracks" / "drawn"
    write_track(track, source.folder, folder, "drawn")
    (recorded,) = recorded_rollouts(source)
    assert recorded.name == "track" and recorded.times[-1] == pytest.approx(track.times[-1])
    assert [recorded.twin.bodies[number].name for number in recorded.moving] == ["carried"]
    assert not list((source.folder / "scene").glob("track*"))
    rows = np.arange(0, track.times[-1], 0.02)
    joints = np.stack([np.sin(rows), rows], 1)
    log = Episode.from_arrays(rows + 7, joints, ("shoulder", "elbow"), actions=joints)
    write_episode_of(with_objects(log, track), folder)
    episode, dataset = read_episode(folder / "episode.npz"), read_episode(folder / "lerobot")
    assert set(episode.objects) == {"carried", "can"}
    assert np.abs(episode.objects["carried"][-1] - track.poses[-1, 0]).max() < 0.02
    assert np.abs(dataset.positions[-1] - joints[-1]).max() < 0.03 and dataset.actions is not None
    features = read_json(folder / "lerobot" / "meta" / "info.json")["features"]
    assert features["observation.environment_state"]["names"][0] == "carried.x"
    write_track(track, source.folder, folder, "drawn")
    assert newest_track(source.folder) == folder and {file.name for file in folder.iterdir()} == {
        "track.npz", "track.json", "twin.xml",
    }  # fmt: skip
    (folder / "twin.xml").write_bytes(b"\xff<mujoco/>")
    with pytest.raises(TrackError, match="follow the recording again"):
        list(recorded_rollouts(source))
    own = tmp_path / "own"
    (own / "lerobot").mkdir(parents=True)
    write_track(track, source.folder, own, "drawn")
    assert (own / "lerobot").is_dir(), "what was there before a track is a person's own"
