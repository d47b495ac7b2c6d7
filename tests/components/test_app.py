"""What the app does without a browser: logins, what a browser may send, what changed between two programs."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from pipeline.assets.library import Library
from pipeline.frame import Frame, Intrinsics
from pipeline.matching import Features
from pipeline.models.rules import RulesModel
from pipeline.project import Project
from pipeline.run import Services
from pipeline.segmentation import DepthSegmenter, SegmentationError
from pipeline.simulation.sandbox import Sandbox
from studio import serving
from studio.differences import diff
from studio.prompts import prompt
from studio.samples import projects
from studio.session import Session

FRAME = Frame(np.zeros((40, 60, 3), np.uint8), np.ones((40, 60), np.float32), Intrinsics(60, 40, 50, 50, 30, 20))
LINES = st.lists(st.sampled_from(["a = 1", "b = 2", "", "return c"]), max_size=12)


@given(LINES, LINES)
def test_a_diff_with_all_its_context_tells_both_texts_whole(left: list[str], right: list[str]):
    rows = [row for row in diff(left, right, context=99) if row[0] != "gap"]
    if left != right:
        assert [row[2] for row in rows if row[1] is not None] == left
        assert [row[4] for row in rows if row[3] is not None] == right


@pytest.mark.parametrize(
    "request_",
    [
        {"points": [[1, 2]], "labels": []},
        {"points": [[1, 2]], "labels": [2]},
        {"points": [[70, 2]], "labels": [1]},
        {"points": [[float("nan"), 2]], "labels": [1]},
        {"points": "here", "labels": [1]},
        {"points": [[1, 2]] * 300, "labels": [1] * 300},
        {"box": [1, 2]},
        {"rle": {"size": [4, 4], "counts": [16]}},
    ],
)
def test_clicks_that_make_no_sense_are_refused_in_one_line(request_: dict):
    with pytest.raises(SegmentationError) as told:
        prompt(request_, FRAME)
    assert "\n" not in str(told.value)


def test_clicks_arrive_as_they_were_made():
    asked = prompt({"points": [[3.5, 4], [10, 11]], "labels": [1, 0], "box": [1, 2, 30, 31]}, FRAME)
    assert asked.points.tolist() == [[3.5, 4], [10, 11]] and asked.labels.tolist() == [1, 0]
    assert asked.box is not None and asked.box.tolist() == [1, 2, 30, 31]


def test_behind_a_login_nothing_is_told_to_strangers(tmp_path: Path):
    from studio.app import build

    services = Services(
        DepthSegmenter(), RulesModel(), Library(()), features=lambda: Features.of(Library(())), sandbox=Sandbox()
    )
    with TestClient(build(services, tmp_path, ("ada", "secret"))) as client:
        for address in ("/project/x/colour.jpg", "/thumbnail/sample/blocks", "/viewer/", "/config"):
            assert client.get(address).status_code == 401, address
        client.post("/login", data={"username": "ada", "password": "secret"})
        assert client.get("/thumbnail/sample/blocks").status_code == 200
        assert client.get("/project/x/colour.jpg").status_code == 404


@pytest.mark.parametrize("record", ["", "{", "[]", "{}", '{"stages": []}', '{"stages": null}', "\\u0000"])
def test_a_broken_project_is_left_out_of_the_gallery_and_the_others_stay(record: str, tmp_path: Path):
    Project.create(tmp_path / "whole", FRAME)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "project.json").write_text(record)
    assert [one["name"] for one in projects(tmp_path)] == ["whole"]


@pytest.mark.parametrize("what", ["crop/abc.jpg", "crop/77.jpg", "window/x.jpg", "candidate/..", "object/9_urdf", "no"])
def test_an_address_that_names_nothing_gets_one_line(what: str, tmp_path: Path):
    app, project = FastAPI(), Project.create(tmp_path / "one", FRAME)
    session = Session(project, SimpleNamespace(library=Library(())))  # type: ignore[arg-type]
    serving.mount(app, SimpleNamespace(get=lambda _: session, workspace=tmp_path), lambda _: True)  # type: ignore[arg-type]
    answer = TestClient(app).get(f"/project/token/{what}")
    assert answer.status_code == 404 and answer.text.strip() and "\n" not in answer.text
