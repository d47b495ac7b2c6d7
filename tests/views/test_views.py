"""Further views of a table: where their cameras stood, which pixels show which object, and what becomes better."""

from dataclasses import replace

import drawn_scene as make
import numpy as np
import pytest

from pipeline.decisions import Decision, DecisionError, append, read_log
from pipeline.description import describe
from pipeline.frame import FrameError, FurtherView, Observation, save
from pipeline.project import Project
from pipeline.project.project_views import choose_views, read_views
from pipeline.scene.observed_object import object_points, observe
from pipeline.segmentation import SegmentationError
from pipeline.store import StoreError
from pipeline.views import ViewError, carry_masks, register_view

EYES = (0.1, -0.6, 0.5), (0.62, 0.2, 0.5), (-0.55, 0.3, 0.55)


@pytest.fixture(scope="module")
def shapes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shapes")
    return (
        make.placement(make.box(folder), "box", (-0.15, 0.05), yaw=0.4, number=1, rgb=(200, 40, 40)),
        make.placement(make.can(folder), "can", (0.1, -0.08), number=2, rgb=(40, 160, 60)),
        make.placement(
            make.box(folder, (0.12, 0.09, 0.05)), "block", (0.02, 0.16), yaw=1.1, number=3, rgb=(50, 70, 200)
        ),
        make.placement(make.ball(folder), "ball", (0.22, 0.12), number=4, rgb=(230, 200, 40)),
    )


def shot(shapes, eye):
    """Return frame, support and segments of a table from an eye, and the camera's true pose."""
    scene = replace(make.scene(*shapes), world_from_camera=make.camera_pose(eye))
    frame, support, segments = make.photograph(scene)
    return replace(frame, world_from_camera=None), support, segments, scene.world_from_camera


@pytest.fixture(scope="module")
def table(shapes):
    return [shot(shapes, eye) for eye in EYES]


def off(found, main, view):
    """Return metres and degrees between a found main_from_camera and the truth."""
    gap = np.linalg.inv(found) @ np.linalg.inv(main) @ view
    return np.linalg.norm(gap[:3, 3]), np.degrees(np.arccos(np.clip((np.trace(gap[:3, :3]) - 1) / 2, -1, 1)))


def test_a_view_is_found_without_a_pose_and_one_from_a_file_is_refined(table):
    (main, *_, pose), (side, *_, true), _ = table
    found = register_view(main, side)
    assert found.source == "registered" and found.agreement > 0.8
    assert np.less(off(found.main_from_camera, pose, true), (0.004, 0.4)).all()
    rough = np.linalg.inv(pose) @ true
    rough[:3, 3] += 0.008
    refined = register_view(main, side, rough)
    assert refined.source == "file" and np.less(off(refined.main_from_camera, pose, true), (0.004, 0.4)).all()


def test_a_view_that_fits_at_two_places_or_at_none_is_refused_with_the_reason(shapes, table):
    twins = [replace(shapes[0], world_from_object=p.world_from_object, name=p.name, segment_id=k)
             for k, p in enumerate((make.placement(shapes[0].mesh, "a", (-0.1, 0), number=1),
                                    make.placement(shapes[0].mesh, "b", (0.1, 0), number=2)), 1)]  # fmt: skip
    pair = [shot(twins, eye)[0] for eye in ((0.0, -0.6, 0.5), (0.6, 0.0, 0.5))]
    with pytest.raises(ViewError, match="two places"):
        register_view(*pair)
    moved = [replace(p, world_from_object=replace(p.world_from_object, pos=p.world_from_object.pos * [-1.4, 0.3, 1]))
             for p in shapes]  # fmt: skip
    with pytest.raises(ViewError, match="agrees at the best place"):
        register_view(table[0][0], shot(moved, EYES[1])[0])


def test_masks_are_carried_and_what_the_views_measured_is_fused(shapes, table):
    (main, support, segments, pose), *others = table
    views = carry_masks(main, support, segments, [(o[0], np.linalg.inv(pose) @ o[3]) for o in others])
    for view, (_, _, truth, _) in zip(views, others, strict=True):
        for segment in truth:
            both, either = view.mask(segment.id) & segment.mask, view.mask(segment.id) | segment.mask
            assert both.sum() > 0.7 * either.sum(), segment.id
    for p, segment in zip(shapes, segments, strict=True):
        alone, fused = (describe(main, support, segment, (), seen) for seen in ((), views))
        errors = [np.abs(np.sort(one.attributes.size) - np.sort(p.size)).max() for one in (alone, fused)]
        assert errors[1] < max(errors[0], 0.006)
    observation = Observation(main, support, views)
    assert len(object_points(observation, segments[0])) > 1.5 * len(
        object_points(Observation(main, support), segments[0])
    )
    target = observe(observation, segments[0], describe(main, support, segments[0])).target
    hidden = np.array([[-0.171, 0.106, 0.01]])  # behind the box, where the other views see the table
    assert target.free_space_depth(hidden)[0] > 0.01 > replace(target, others=()).free_space_depth(hidden)[0]


def test_a_carriers_masks_part_a_view_and_geometry_says_which_object_each_shows(table, monkeypatch):
    (main, support, segments, pose), *others = table
    monkeypatch.setattr("pipeline.views.masks._objects", lambda _: ())  # the embedded segmenter finds nothing
    views = [(o[0], np.linalg.inv(pose) @ o[3]) for o in others]

    def overlap(carried):
        pairs = [(view.mask(s.id), s.mask) for view, o in zip(carried, others, strict=True) for s in o[2]]
        return float(np.mean([(a & b).sum() / (a | b).sum() for a, b in pairs]))

    def backwards(pictures, masks):
        """Return the true masks, each called another object."""
        assert len(pictures) == 3 and len(masks) == len(segments)
        return [[one.mask for one in reversed(truth)] for _, _, truth, _ in others]

    alone, carried = carry_masks(main, support, segments, views), carry_masks(main, support, segments, views, backwards)
    assert overlap(carried) > max(0.9, overlap(alone) + 0.2)


def test_what_was_carried_is_kept_for_who_has_no_carrier_and_one_that_fails_says_why(table, tmp_path):
    (main, _, segments, pose), (side, _, truth, true), _ = table
    project = Project.create(tmp_path / "project", main)
    project.save_segments(segments)
    list(choose_views(project, [("1", side, np.linalg.inv(pose) @ true)]))
    asked = []

    def broken(*_):
        raise SegmentationError("SAM 2 has no memory left.")

    def carrier(_, masks):
        asked.append(len(masks))
        return [[np.zeros_like(one.mask) for one in truth]]

    project.carry_masks_with(broken)
    with pytest.raises(ViewError, match="no memory left"):
        project.views()
    project.carry_masks_with(carrier)
    carried = project.views()[0].labels
    assert asked == [len(segments)]
    assert (Project.open(project.folder).views()[0].labels == carried).all()
    assert len(list((project.folder / "cache").glob("*-carried.json"))) == 1


def test_views_are_a_decision_that_undo_takes_back_to_the_same_bytes(table, tmp_path):
    frames = [one[0] for one in table]
    project = Project.create(tmp_path / "project", frames[0])
    project.save_segments(table[0][2])
    before = project.key("scene"), project.views(), project.views_digest(1)
    relative = np.linalg.inv(table[0][3]) @ table[1][3]
    said = list(
        choose_views(
            project, [("1", frames[1], relative), ("again", replace(frames[2], depth=frames[2].depth * 0), None)]
        )
    )
    assert "pose from the file" in said[0] and "is not used" in said[1]
    (view,) = Project.open(project.folder).views()
    assert isinstance(view, FurtherView) and view.mask(1).sum() > 50 and project.key("scene") != before[0]
    assert not list(choose_views(project, ())) and len(project.active_decisions("views")) == 1
    project.undo()
    assert (project.key("scene"), project.views(), project.views_digest(1)) == before


def test_views_are_named_by_number_or_path_and_a_wrong_one_or_one_outside_of_the_project_is_refused(table, tmp_path):
    for number, (frame, _, _, pose) in enumerate(table):
        save(replace(frame, world_from_camera=pose), tmp_path / str(number))
    ((name, frame, start),) = read_views(tmp_path / "0", 0, str(tmp_path / "1"))
    assert name.endswith("1") and frame.depth.any()
    assert np.allclose(start, np.linalg.inv(table[0][3]) @ table[1][3], atol=1e-5)
    for wrong in ("0", "7", "nowhere"):
        with pytest.raises(FrameError):
            list(read_views(tmp_path / "0", 0, wrong))
    row = {"folder": "../../secret", "main_from_camera": np.eye(4).tolist(), "source": "file"}
    with pytest.raises((DecisionError, StoreError), match="views"):
        append(tmp_path / "decisions.jsonl", Decision("views", {"views": [row]}))
    assert not read_log(tmp_path / "decisions.jsonl")
