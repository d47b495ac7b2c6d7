"""Requests of the mask canvas and their answers."""

import json
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from offline_studio import FRAME

from pipeline.segmentation import ScriptedSegmenter, decode_rle, encode_rle
from pipeline.segmentation.automatic import ProgressView
from studio.masks import segmenter_choice
from studio.masks.mask_requests import endpoint
from studio.masks.prompt_requests import parse_prompt
from studio.masks.segmenter_choice import FrameSegmenters
from studio.server.errors import RequestError

MASK = np.zeros((40, 60), bool)
MASK[10:20, 15:40] = True


class OneSession:
    """Stands for the open projects: one, under the token "known"."""

    def __init__(self):
        segmenters = FrameSegmenters(FRAME, ScriptedSegmenter([MASK]))
        self.session = SimpleNamespace(project=SimpleNamespace(frame=FRAME), segmenters=segmenters)

    def get(self, token: str | None):
        if token != "known":
            raise RequestError("This project is no longer open.")
        return self.session


def ask(**request) -> dict:
    return endpoint(OneSession())({"token": "known", **request})  # type: ignore[arg-type]


KINDS = st.sampled_from(["prompt", "compare", "choose", "stop", "status", "nonsense", "", None])
ANYTHING = st.one_of(st.none(), st.integers(), st.text(max_size=5), st.lists(st.floats(), max_size=3), st.just({}))


@given(seq=st.integers(-(2**53), 2**53), kind=KINDS, points=ANYTHING, rle=ANYTHING, name=ANYTHING)
def test_every_answer_repeats_the_number_of_its_request(seq, kind, points, rle, name):
    answer = ask(seq=seq, kind=kind, points=points, labels=[1], rle=rle, name=name)
    assert answer["seq"] == seq and len(answer) > 1 and "\n" not in answer.get("error", "")


def test_a_click_is_answered_with_run_lengths_and_the_status_names_every_segmenter():
    answer = ask(seq=5, points=[[20, 15]], labels=[1])
    assert answer["seq"] == 5 and answer["ms"] >= 0
    best = answer["candidates"][0]
    assert (decode_rle(best["rle"]) == MASK).all() and best["source"] == "scripted"
    json.dumps(answer)
    answer = ask(kind="status")
    assert answer["chosen"] == "scripted"
    assert [one["name"] for one in answer["segmenters"]] == ["scripted", "depth", "sam2"]
    assert all({"title", "state", "progress", "note"} <= one.keys() for one in answer["segmenters"])


def test_an_invalid_request_is_refused_in_one_line():
    for request_, message in (
        (dict(points=[[20, 15]], labels=[]), "label"),
        (dict(points=[[70, 2]], labels=[1]), "outside the picture"),
        (dict(points=[[float("nan"), 2]], labels=[1]), ""),
        (dict(points="here", labels=[1]), ""),
        (dict(points=[[1, 2]] * 300, labels=[1] * 300), ""),
        (dict(rle={"size": [4, 4], "counts": [16]}), ""),
        (dict(points=[[15, MASK.shape[0] + 1]], labels=[1]), "outside the picture"),
        (dict(kind="compare", rle=encode_rle(np.zeros_like(MASK))), "nothing to compare"),
        (dict(kind="compare", rle={"size": [1, 2]}), "reload the page"),
        (dict(kind="choose", name="other"), "no segmenter 'other'"),
    ):
        answer = ask(seq=1, **request_)
        assert answer["error"] and message in answer["error"] and "\n" not in answer["error"] and answer["seq"] == 1


def test_a_stop_cancels_the_view_of_the_segmenter_that_it_names(monkeypatch: pytest.MonkeyPatch):
    sessions, view = OneSession(), Mock(ProgressView)
    monkeypatch.setattr(segmenter_choice, "create_segmenter", lambda *_: Mock(open=lambda _: view))
    sessions.session.segmenters.open("sam2")
    answer = endpoint(sessions)({"token": "known", "kind": "stop", "name": "sam2"})  # type: ignore[arg-type]
    assert answer["chosen"] == "scripted" and view.cancel.call_count == 1


def test_clicks_arrive_as_they_were_made():
    prompt = parse_prompt({"points": [[3.5, 4], [10, 11]], "labels": [1, 0], "box": [1, 2, 30, 31]}, FRAME)
    assert prompt.points.tolist() == [[3.5, 4], [10, 11]] and prompt.labels.tolist() == [1, 0]
    assert prompt.box is not None and prompt.box.tolist() == [1, 2, 30, 31]
