"""What the Objects page asks of the studio: candidates drawn in the photograph's view, the library searched, equal
objects told; and that nobody can ask for more than there is."""

import time
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from pipeline.assets import Library
from pipeline.description import describe, to_json
from pipeline.frame import load
from pipeline.project import Project
from pipeline.segmentation import DepthSegmenter, SegmentationError
from studio import comparing, prompts
from studio.alike import alike
from studio.belonging import belonging
from studio.session import Session, SessionError

SAMPLES = Path(__file__).parents[2] / "sample_scenes"
RED_CUBE = "red_cube"


@pytest.fixture(scope="module")
def session(tmp_path_factory) -> Session:
    """A project whose objects are described; nothing is matched or placed yet."""
    project = Project.create(tmp_path_factory.mktemp("objects") / "blocks", load(SAMPLES / "blocks"))
    project.keep_segments(DepthSegmenter().open(project.frame).automatic())
    described = [describe(project.frame, project.support, one) for one in project.segments() or ()]
    (project.folder / "descriptions.json").write_text(to_json(described), encoding="utf-8")
    return Session(project, SimpleNamespace(library=Library.open(), encoder=None))  # type: ignore[arg-type]


def ask(session: Session, **request) -> dict:
    sessions = SimpleNamespace(get=lambda token: session)
    return comparing.answer(sessions, {"token": session.token, "seq": 7, **request})  # type: ignore[arg-type]


def drawn_at_last(session: Session, asset: str) -> dict:
    """What is told of a candidate of the red cube as soon as it is drawn."""
    for _ in range(600):
        drawn = ask(session, kind="compare", id=red(session), assets=[asset])["drawn"][asset]
        if drawn["state"] != "drawing":
            return drawn
        time.sleep(0.1)
    raise AssertionError(f"{asset} is not drawn")


def red(session: Session) -> int:
    """The segment of the red cube, whose middle is there in the photograph."""
    return next(one.id for one in session.project.segments() or () if one.mask[241, 181])


def test_a_candidate_is_drawn_meanwhile_and_kept(session: Session):
    first = ask(session, kind="compare", id=red(session), assets=[RED_CUBE])
    assert first["seq"] == 7 and first["drawn"][RED_CUBE]["state"] in ("drawing", "ready")
    drawn = drawn_at_last(session, RED_CUBE)
    assert drawn["state"] == "ready" and drawn["overlap"] > 0.8 and drawn["depth_error"] < 0.01
    data, media = comparing.picture(session, "candidate", drawn["image"].rsplit("/", 1)[1])
    assert media == "image/png" and Image.open(BytesIO(data)).mode == "RGBA"
    again = Session(session.project, session.services)
    assert ask(again, kind="compare", id=red(session), assets=[RED_CUBE])["drawn"][RED_CUBE]["state"] == "ready"


def test_what_is_looked_at_is_drawn_at_once_and_the_rest_when_the_project_s_own_work_is_done(tmp_path: Path):
    at_work = SimpleNamespace(work="settling", token="t", project=SimpleNamespace(folder=tmp_path))
    drawn: list[str] = []
    drawer = comparing.Drawer(at_work)  # type: ignore[arg-type]
    wishes = [comparing.Wish(key, lambda key=key: drawn.append(key) or {}) for key in "abc"]
    assert [one["state"] for one in drawer.standing(wishes)] == ["drawing"] * 3
    for wanted in (["a"], ["a", "b", "c"]):
        for _ in range(300):
            if drawn == wanted:
                break
            time.sleep(0.02)
        assert drawn == wanted
        at_work.work = None


def test_the_crop_and_the_crop_without_the_object_are_the_same_window(session: Session):
    pictures = [comparing.picture(session, kind, f"{red(session)}.jpg")[0] for kind in ("window", "without")]
    whole, without = (np.asarray(Image.open(BytesIO(data)).convert("RGB"), float) for data in pictures)
    assert whole.shape == without.shape
    middle = whole.shape[0] // 2, whole.shape[1] // 2
    reddish = [picture[middle][0] - picture[middle][1] for picture in (whole, without)]
    assert reddish[0] > 80 and reddish[1] < 60


def test_a_way_to_make_it_is_seen_before_the_twin_is_made_anew(session: Session):
    box = drawn_at_last(session, "way:box")
    assert box["state"] == "ready" and box["overlap"] > 0.7
    assert box["says"].startswith("made from the view as a")
    assert not (session.project.folder / "scene").exists() and not session.project.decisions


def test_what_the_twin_does_not_show_has_no_picture(session: Session):
    none = ["", "no_such_asset", "way:woven", "way:provider"]
    drawn = ask(session, kind="compare", id=red(session), assets=none)["drawn"]
    assert {one["state"] for one in drawn.values()} == {"none"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": 999, "assets": []},
        {"id": None, "assets": []},
        {"id": 1, "assets": "all"},
        {"id": 1, "assets": ["a"] * 99},
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(session: Session, wrong: dict):
    said = ask(session, kind="compare", **wrong)
    assert "\n" not in said["error"] and len(said["error"]) > 20


@pytest.mark.parametrize("name", ["../../../project.json", "%2e%2e/x", "candidates", "1"])
def test_no_other_file_of_the_project_is_a_picture(session: Session, name: str):
    with pytest.raises(SessionError):
        comparing.picture(session, "candidate", name)


def test_the_library_is_searched_by_words(session: Session):
    said = ask(session, kind="search", words="mug")
    assert said["total"] >= 1 and all("mug" in one["asset_id"] or "mug" in one["name"] for one in said["assets"][:2])


def test_nothing_is_made_in_a_way_that_there_is_not(session: Session):
    frame = session.project.frame
    assert prompts.decision({"kind": "make", "id": 1, "way": "box"}, frame) == ("make", {"id": 1, "way": "box"})
    for way in ("woven", None, 3):
        with pytest.raises(SegmentationError, match="Nothing is made that way"):
            prompts.decision({"kind": "make", "id": 1, "way": way}, frame)


def thing(id: int, **more) -> dict:
    known = {"id": id, "is_object": True, "size": [0.05, 0.05, 0.05], "colour_name": "red", "shape": "cube"}
    return known | {"match": {"asset_id": None}} | more


def test_equal_objects_are_those_of_one_asset_and_those_that_look_alike():
    mugs = [thing(id, match={"asset_id": "mug"}, colour_name=colour) for id, colour in ((1, "blue"), (2, "green"))]
    cubes = [thing(3), thing(4, size=[0.052, 0.048, 0.05]), thing(5, size=[0.09, 0.09, 0.09]), thing(6, shape="sphere")]
    assert alike([*mugs, *cubes]) == {1: [1, 2], 2: [1, 2], 3: [3, 4], 4: [3, 4]}


def test_what_is_no_object_or_not_described_is_equal_to_nothing():
    vague = {"id": 3, "is_object": True}
    assert alike([thing(1), thing(2, is_object=False), vague, {"id": 4, "is_object": True}]) == {}


def test_a_row_of_ever_larger_things_is_no_group():
    row = [thing(id, size=[0.1 * 1.08**id] * 3) for id in range(1, 6)]
    assert max(len(group) for group in alike(row).values()) <= 2


def test_a_fleck_is_offered_to_what_it_belongs_to_only_while_it_is_unsure_itself():
    whole, sure = {"id": 1, "name": "carton", "is_object": True}, {"word": "sure"}
    fleck = {"id": 2, "name": "fleck", "is_object": True, "warnings": ["Only 40 points were measured."]}
    told = belonging([whole, fleck], {2: 1})[1]
    assert (told["part_of"]["id"], told["part_of"]["name"]) == (1, "carton")
    assert "part of carton" in told["mark_says"] and told["warnings"][1:] == fleck["warnings"]
    for other in (fleck | {"sure": sure}, fleck | {"is_object": False}):
        assert "part_of" not in belonging([whole, other], {2: 1})[1]
    assert "part_of" not in belonging([whole | {"is_object": False}, fleck], {2: 1})[1]
