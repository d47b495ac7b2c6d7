"""Objects of a project: candidates in the photograph's view, groups of identical ones, and fragments to merge."""

from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from offline_studio import wait_until
from PIL import Image

from pipeline.assets import Library
from pipeline.description import describe, to_json
from pipeline.frame import load
from pipeline.project import Project
from pipeline.resources import SAMPLE_SCENES
from pipeline.segmentation import DepthSegmenter, SegmentationError
from studio.objects import candidate_comparison
from studio.objects.candidate_renderer import CandidateRenderer, RenderJob
from studio.records.related_objects import add_merge_suggestions, identical_groups
from studio.sessions.prompt_requests import parse_decision
from studio.sessions.session import Session

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


def test_a_candidate_is_rendered_in_the_background_and_cached(session: Session):
    first = ask(session, kind="compare", id=red(session), assets=[RED_CUBE])
    assert first["seq"] == 7 and first["renders"][RED_CUBE]["state"] in ("drawing", "ready")
    drawn = rendered(session, RED_CUBE)
    assert drawn["state"] == "ready" and drawn["overlap"] > 0.8 and drawn["depth_error"] < 0.01
    shown = candidate_comparison.FILES["candidate"](session, drawn["image"].rsplit("/", 1)[1])
    assert shown.media_type == "image/png" and Image.open(BytesIO(shown.body)).mode == "RGBA"
    reopened = Session(session.project, session.services)
    assert ask(reopened, kind="compare", id=red(session), assets=[RED_CUBE])["renders"][RED_CUBE]["state"] == "ready"


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
    wait_until(lambda: rendered == ["a", "b", "c"], "the other candidates")
    runner, renderer, cache = renderer_at_work(tmp_path, scene_stamp="0")
    rendered.clear()
    renderer.states([RenderJob("a", lambda: rendered.append("a") or {})])
    wait_until(lambda: cache.stamp.call_count > 2, "several looks for the twin")
    assert rendered == []
    runner.current = None
    wait_until(lambda: rendered == ["a"], "the selected candidate")


def test_the_crop_and_the_crop_without_the_object_are_the_same_window(session: Session):
    pictures = [candidate_comparison.FILES[kind](session, f"{red(session)}.jpg").body for kind in ("window", "without")]
    window, without = (np.asarray(Image.open(BytesIO(data)).convert("RGB"), float) for data in pictures)
    assert window.shape == without.shape
    middle = window.shape[0] // 2, window.shape[1] // 2
    reddish = [picture[middle][0] - picture[middle][1] for picture in (window, without)]
    assert reddish[0] > 80 and reddish[1] < 60


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
    """Return a red cube, with other fields where given."""
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
    record = add_merge_suggestions([parent, fragment], {2: 1})[1]
    assert (record["probably_part_of"]["id"], record["probably_part_of"]["name"]) == (1, "carton")
    assert "part of carton" in record["mark_note"] and record["warnings"][1:] == fragment["warnings"]
    for other in (fragment | {"confidence": sure}, fragment | {"is_object": False}):
        assert "probably_part_of" not in add_merge_suggestions([parent, other], {2: 1})[1]
    assert "probably_part_of" not in add_merge_suggestions([parent | {"is_object": False}, fragment], {2: 1})[1]
