"""Objects of a project in the photograph: candidates, groups, poses; what a person corrects of camera and ground."""

from dataclasses import replace
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import cv2
import drawn_scene as make
import numpy as np
import pytest
from offline_studio import wait_until
from PIL import Image
from scipy.spatial.transform import Rotation

from pipeline.assets import Library
from pipeline.decisions import Decision
from pipeline.description import describe, to_json
from pipeline.errors import StudioError
from pipeline.frame import FrameError, doubt_registration, find_support, likely_grounds, load
from pipeline.frame.support_candidates import find_candidates
from pipeline.geometry import Pose
from pipeline.project import Project
from pipeline.resources import SAMPLE_SCENES
from pipeline.segmentation import DepthSegmenter, SegmentationError
from studio.objects import candidate_comparison, candidate_renderer
from studio.objects.candidate_renderer import CandidateRenderer, RenderJob
from studio.records.fits import compute_fits
from studio.records.related_objects import Parents, add_merge_suggestions, identical_groups
from studio.scene import adjustments
from studio.scene.camera_correction import camera_record, parse_camera
from studio.scene.frame_record import translated_note
from studio.scene.ground_choice import ground_records, grounds_of_numbers, parse_pixel
from studio.sessions.prompt_requests import parse_decision
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry
from studio.texts import current_language
from studio.viewer.depth_difference import colourise
from tests.frame.rendered import render

RED_CUBE = "red_cube"


@pytest.fixture(scope="module")
def session(tmp_path_factory) -> Session:
    """A project whose objects are described and neither matched nor placed."""
    project = Project.create(tmp_path_factory.mktemp("objects") / "blocks", load(SAMPLE_SCENES / "blocks"))
    project.save_segments(DepthSegmenter().open(project.frame).automatic())
    described = [describe(project.frame, project.support, one) for one in project.segments() or ()]
    (project.folder / "descriptions.json").write_text(to_json(described), encoding="utf-8")
    return Session(project, SimpleNamespace(library=Library.open(), encoder=None, model=None, send="ask"))  # type: ignore[arg-type]


def ask(session: Session, **request) -> dict:
    sessions = SimpleNamespace(get=lambda token: session)
    return candidate_comparison.endpoint(sessions)({"token": session.token, "seq": 7, **request})  # type: ignore[arg-type]


def rendered(session: Session, asset: str) -> dict:
    """Return the record of a candidate of the red cube once it is rendered."""

    def render() -> dict:
        return ask(session, kind="compare", id=red(session), assets=[asset])["renders"][asset]

    wait_until(lambda: render()["state"] != "drawing", f"the rendering of {asset}")
    return render()


def red(session: Session) -> int:
    """Return the id of the red cube, which covers that pixel of the photograph."""
    return next(one.id for one in session.project.segments() or () if one.mask[241, 181])


def test_a_candidate_is_rendered_in_the_background_and_cached_and_its_crops_are_one_window(session: Session):
    first = ask(session, kind="compare", id=red(session), assets=[RED_CUBE])
    assert first["seq"] == 7 and first["renders"][RED_CUBE]["state"] in ("drawing", "ready")
    drawn = rendered(session, RED_CUBE)
    assert drawn["state"] == "ready" and drawn["overlap"] > 0.8 and drawn["depth_error"] < 0.01
    shown = candidate_comparison.FILES["candidate"](session, drawn["image"].rsplit("/", 1)[1])
    assert shown.media_type == "image/png" and Image.open(BytesIO(shown.body)).mode == "RGBA"
    reopened = Session(session.project, session.services)
    assert ask(reopened, kind="compare", id=red(session), assets=[RED_CUBE])["renders"][RED_CUBE]["state"] == "ready"
    pictures = [candidate_comparison.FILES[kind](session, f"{red(session)}.jpg").body for kind in ("window", "without")]
    window, without = (np.asarray(Image.open(BytesIO(data)).convert("RGB"), float) for data in pictures)
    assert window.shape == without.shape
    middle = window.shape[0] // 2, window.shape[1] // 2
    reddish = [picture[middle][0] - picture[middle][1] for picture in (window, without)]
    assert reddish[0] > 80 and reddish[1] < 60


def renderer_at_work(folder: Path, scene_stamp: str) -> tuple[SimpleNamespace, CandidateRenderer, Mock]:
    """Return the runner of a session that settles its scene, the session's renderer, and its cache."""
    runner = SimpleNamespace(current="settling")
    cache = Mock(stamp=Mock(return_value=scene_stamp))
    project = SimpleNamespace(folder=folder)
    session = SimpleNamespace(runner=runner, token="t", project=project, cache=cache)
    return runner, CandidateRenderer(session), cache  # type: ignore[arg-type]


def test_the_selected_candidate_is_rendered_at_once_the_others_after_the_stages_and_none_before_a_twin(tmp_path: Path):
    runner, renderer, _ = renderer_at_work(tmp_path, scene_stamp="1")
    rendered: list[str] = []
    jobs = [RenderJob(key, lambda key=key: rendered.append(key) or {}) for key in "abc"]
    assert [state["state"] for state in renderer.states(jobs)] == ["drawing"] * 3
    wait_until(lambda: rendered == ["a"], "the selected candidate")
    runner.current = None
    wait_until(lambda: renderer.states(jobs) and {*rendered} == {*"abc"}, "the other candidates")
    runner, renderer, cache = renderer_at_work(tmp_path, scene_stamp="0")
    later: list[str] = []
    renderer.states([RenderJob("a", lambda: later.append("a") or {})])
    wait_until(lambda: cache.stamp.call_count > 2, "several looks for the twin")
    assert later == []
    runner.current = None
    wait_until(lambda: later == ["a"], "the selected candidate")


def test_candidates_that_the_page_no_longer_asks_for_are_not_rendered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(candidate_renderer, "UNSEEN_S", -1.0)
    begun, start = [], candidate_renderer.background.start
    monkeypatch.setattr(candidate_renderer.background, "start", lambda *a: begun.append(start(*a)))
    runner, renderer, _ = renderer_at_work(tmp_path, scene_stamp="1")
    runner.current, rendered = None, []
    renderer.states([RenderJob(key, lambda key=key: rendered.append(key) or {}) for key in "abc"])
    for task in begun:
        task.join(60)
    assert rendered == ["a"]


def test_a_reconstruction_is_previewed_before_the_twin_is_rebuilt_and_an_unknown_method_is_refused(session: Session):
    box = rendered(session, "method:box")
    assert box["state"] == "ready" and box["overlap"] > 0.7
    assert box["note"].startswith("made from the view as a")
    assert not (session.project.folder / "scene").exists() and not session.project.decisions
    none = ["", "no_such_asset", "method:woven", "method:provider"]
    drawn = ask(session, kind="compare", id=red(session), assets=none)["renders"]
    assert {one["state"] for one in drawn.values()} == {"none"}
    frame = session.project.frame
    assert parse_decision({"kind": "make", "id": 1, "way": "box"}, frame) == ("make", {"id": 1, "way": "box"})
    for way in ("woven", None, 3):
        with pytest.raises(SegmentationError, match="no such reconstruction method"):
            parse_decision({"kind": "make", "id": 1, "way": way}, frame)
    assert "\n" not in ask(session, kind="compare", id=1, assets=["a"] * 99)["error"]


def record(id: int, **more) -> dict:
    default = {"id": id, "is_object": True, "size": [0.05, 0.05, 0.05], "colour_name": "red", "shape": "cube"}
    return default | {"match": {"asset_id": None}} | more


def test_identical_objects_share_an_asset_or_colour_shape_and_size():
    mugs = [record(id, match={"asset_id": "mug"}, colour_name=colour) for id, colour in ((1, "blue"), (2, "green"))]
    cubes = [record(3), record(4, size=[0.052, 0.048, 0.05]), record(5, size=[0.09] * 3), record(6, shape="sphere")]
    assert identical_groups([*mugs, *cubes]) == {1: [1, 2], 2: [1, 2], 3: [3, 4], 4: [3, 4]}
    undescribed = {"id": 3, "is_object": True}
    assert identical_groups([record(1), record(2, is_object=False), undescribed, {"id": 4, "is_object": True}]) == {}
    row = [record(id, size=[0.1 * 1.08**id] * 3) for id in range(1, 6)]
    assert max(len(group) for group in identical_groups(row).values()) <= 2


def test_a_fragment_is_offered_to_its_object_only_while_it_is_uncertain():
    parent, sure = {"id": 1, "words": "carton", "is_object": True}, {"level": "sure"}
    fragment = {"id": 2, "words": "fragment", "is_object": True, "warnings": ["Only 40 points were measured."]}
    record = add_merge_suggestions([parent, fragment], Parents({2: 1}, {}))[1]
    assert (record["probably_part_of"]["id"], record["probably_part_of"]["name"]) == (1, "carton")
    assert "part of carton" in record["mark_note"] and record["warnings"][1:] == fragment["warnings"]
    for other in (fragment | {"confidence": sure}, fragment | {"is_object": False}):
        assert "probably_part_of" not in add_merge_suggestions([parent, other], Parents({2: 1}, {}))[1]
    assert (
        "probably_part_of"
        not in add_merge_suggestions([parent | {"is_object": False}, fragment], Parents({2: 1}, {}))[1]
    )


@pytest.fixture(scope="module")
def sessions(tmp_path_factory) -> SessionRegistry:
    scene = make.scene(make.placement(make.box(tmp_path_factory.mktemp("meshes")), "box", (0.1, -0.02), yaw=0.5))
    frame, _, segments = make.photograph(scene)
    project = SimpleNamespace(frame=frame, segments=lambda: segments, scene=lambda: scene)
    values: dict = {}
    cache = SimpleNamespace(get=lambda name, _, compute: values.setdefault(name, compute()))
    session = SimpleNamespace(project=project, cache=cache)
    return SimpleNamespace(get=lambda token: session)  # type: ignore[return-value]


REQUEST = {"token": "t", "seq": 3, "id": 1, "pos": [0.1, -0.02, 0.04], "scale": 1.0,
        "quat_wxyz": Rotation.from_euler("z", 0.5).as_quat(scalar_first=True).tolist()}  # fmt: skip


def test_a_moved_object_fits_worse_than_before_and_all_pages_show_the_same_fit(sessions):
    placed = adjustments.endpoint(sessions)(REQUEST)
    away = adjustments.endpoint(sessions)(REQUEST | {"seq": 4, "pos": [0.13, -0.02, 0.04]})
    assert (placed["seq"], away["seq"]) == (3, 4)
    assert placed["change"] == "the same" and placed["iou"] > 0.97
    assert away["change"] == "worse" and away["iou"] < 0.7
    assert away["machine_fit"] == placed["machine_fit"]
    known = compute_fits(sessions.get("t"))[1]
    assert (known["iou"], known["depth_error"]) == (placed["iou"], placed["depth_error"])


@pytest.mark.parametrize("wrong", [
    {"id": "1"}, {"id": 7}, {"pos": [0, 0]}, {"pos": [0, 0, float("nan")]}, {"scale": 0}, {"scale": "big"},
    {"quat_wxyz": [0, 0, 0, 0]}, {"quat_wxyz": [1e9] * 4},
])  # fmt: skip
def test_nonsense_is_answered_in_one_line(sessions, wrong):
    answer = adjustments.endpoint(sessions)(REQUEST | wrong)
    assert answer["seq"] == 3 and answer["error"] and "\n" not in answer["error"]


@pytest.mark.parametrize("message", [
    {"kind": "move", "id": 1}, {"kind": "move", "id": 1, "pos": None, "quat_wxyz": None},
    {"kind": "refit", "id": 1, "pos": [0, 0, 0]}, {"kind": "resize", "id": 1, "scale": None},
    {"kind": "resize", "id": 1, "scale": [1, 2]}, {"kind": "physics", "id": 1, "mass": "heavy", "friction": None},
])  # fmt: skip
def test_an_incomplete_decision_is_refused_before_it_is_recorded(sessions, message):
    with pytest.raises(StudioError):
        Decision(*parse_decision(message, sessions.get("t").project.frame))
    for complete in (
        {"kind": "refit", "id": 1}, {"kind": "physics", "id": 1, "mass": 0.2, "friction": None},
        {"kind": "resize", "id": 1, "scale": 1.2},
        {"kind": "move", "id": 1, "pos": [0, 0, 0], "quat_wxyz": [1, 0, 0, 0]},
    ):  # fmt: skip
        taken = Decision(*parse_decision(complete, sessions.get("t").project.frame))
        assert {"kind": taken.kind, **taken.data} == complete


def test_visible_settling_motion_is_reported():
    put = Pose(np.array([0.1, 0.2, 0.3]), np.array([1.0, 0, 0, 0]))
    for by, tilt, note in (
        ((0, 0, 0), 0, ""), ((0, 0, -0.0005), 0, ""), ((0, 0, -0.004), 0, "moved it 4 mm down"),
        ((0.012, 0, 0.03), 0, "moved it 3.0 cm up, 1.2 cm sideways"), ((0, 0, 0), 30, "moved it turned it 30°"),
    ):  # fmt: skip
        turned = Rotation.from_euler("x", tilt, degrees=True).as_matrix()
        assert adjustments.settling_note(put, Pose.from_rotation(put.pos + np.array(by), turned)) == note


def test_depth_differences_are_red_where_nearer_and_blue_where_farther():
    metres = np.array([[-0.03, 0.0, 0.03, np.nan]], np.float32)
    image = cv2.imdecode(np.frombuffer(colourise(metres), np.uint8), cv2.IMREAD_UNCHANGED)
    (b0, _, r0, a0), (_, _, _, even), (b1, _, r1, a1), (*_, unknown) = image[0].astype(int)  # type: ignore[reportOptionalSubscript]
    assert r0 > b0 and b1 > r1
    assert unknown == 0 < even < min(a0, a1)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.create(tmp_path / "table", load(SAMPLE_SCENES / "blocks"))


def test_another_camera_or_ground_changes_what_is_measured_and_undo_takes_it_back(project: Project):
    original, keys = project.frame, project.key("frame")
    corrected = {"fx": original.intrinsics.fx * 0.8, "fy": original.intrinsics.fy * 0.8, "cx": 100.0, "cy": 90.0}
    project.decide("camera", **corrected)
    assert project.frame.intrinsics.fx == corrected["fx"] and project.frame.rgb is original.rgb
    assert project.frame is project.frame and project.key("frame") != keys
    assert Project.open(project.folder).frame.intrinsics == project.frame.intrinsics
    project.undo()
    assert project.frame.intrinsics == original.intrinsics and project.key("frame") == keys
    pixel = ground_records(project.frame)[0]["pixel"]
    project.decide("ground", pixel=pixel)
    assert project.frame.ground_pixel == tuple(pixel) and project.key("frame") != keys
    assert Project.open(project.folder).frame.ground_pixel == tuple(pixel)
    project.undo()
    assert project.frame.ground_pixel is None and project.key("frame") == keys
    before, k = camera_record(project.frame, project.original_frame, project.support), original.intrinsics
    wider = {"fx": k.fx / 1.2, "fy": k.fy / 1.2, "cx": k.cx, "cy": k.cy}
    project.decide("camera", **parse_camera(wider, project.frame))
    after = camera_record(project.frame, project.original_frame, project.support)
    assert after["changed"] and not before["changed"] and after["original"] == before["original"]
    assert before["table"] and after["table"] and after["table"][0] > 1.05 * before["table"][0]
    project.undo()
    project.decide("camera", **parse_camera(before["original"] | {"depth_factor": 0.25}, project.frame))
    closer = camera_record(project.frame, project.original_frame, project.support)
    assert closer["median_depth"] == pytest.approx(before["median_depth"] / 4) and closer["changed"]
    assert 0.25 in before["factors"] and project.key("frame") != keys and project.frame.doubts == ()


def test_a_doubt_about_the_frame_is_told_in_german_reason_and_cure(project: Project):
    doubt = doubt_registration(1.2)
    assert doubt
    current_language.set("de")
    note = translated_note(doubt.note, replace(project.frame, doubts=(doubt,)))
    assert note.startswith("Die Tiefe passt nicht zur Farbe") and "Prüfen Sie" in note


@pytest.mark.parametrize("wrong", [
    {"depth_factor": 0.3}, {"fx": 3.0}, {"fy": float("nan")}, {"cx": -5.0}, {"fx": "wide"},
    {"pixel": None}, {"pixel": ["a", 2]}, {"pixel": [10**6, 2]},
])  # fmt: skip
def test_an_impossible_camera_or_pixel_is_refused_in_one_line(project: Project, wrong: dict):
    message = {key: getattr(project.frame.intrinsics, key) for key in ("fx", "fy", "cx", "cy")} | wrong
    with pytest.raises(FrameError) as error:
        parse_pixel(wrong, project.frame) if "pixel" in wrong else parse_camera(message, project.frame)
    assert "\n" not in str(error.value)


STEP = """<geom type="box" size=".2 .5 .05" pos="-.3 0 .05"/>
<geom name="left" type="box" size=".03 .03 .03" pos="-.2 .1 .13"/>
<geom name="right" type="box" size=".03 .03 .03" pos=".15 .05 .03"/>"""
"""Two levels, 10 cm apart, with an object on each."""


@pytest.fixture(scope="module")
def frame():
    return render(STEP, eye=(-0.05, -0.5, 0.7)).frame


def test_every_offered_ground_is_chosen_by_its_own_pixel_and_the_first_is_the_current_one(frame, monkeypatch):
    monkeypatch.setattr("pipeline.frame.support.MIN_GROUND_PROBABILITY", 0.0)
    grounds = likely_grounds(replace(frame))
    assert len(grounds) > 1 and find_support(frame).inliers[grounds[0].pixel[::-1]]
    for one in grounds:
        first, *_ = likely_grounds(replace(frame, ground_pixel=one.pixel))
        assert np.array_equal(first.outline, one.outline)
    assert sum(one.probability for one in grounds) == pytest.approx(1)


def test_a_ground_has_a_pixel_that_shows_no_other_and_a_number_that_no_choice_changes(frame, monkeypatch):
    first, x = find_candidates(frame)[0], np.linspace(0, 1, find_candidates(frame)[0].inliers.shape[1])
    halves = [np.tile(part, (len(first.inliers), 1)) for part in (x < 0.7, x > 0.3)]
    found = [replace(first, inliers=half) for half in halves]
    monkeypatch.setattr("pipeline.frame.support.find_candidates", lambda _: found)
    pixels = grounds_of_numbers(frame, "1,2")
    assert [[bool(half[y, x]) for half in halves] for x, y in pixels] in ([[1, 0], [0, 1]], [[0, 1], [1, 0]])
    assert grounds_of_numbers(replace(frame, ground_pixel=tuple(pixels[1])), "1") == pixels[:1]
    with pytest.raises(FrameError, match=r"no ground 3; found: 1 \(50% likely, .*; 2 \(50% likely"):
        grounds_of_numbers(frame, "3")
