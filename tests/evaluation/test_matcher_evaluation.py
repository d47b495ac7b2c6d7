"""Table 1 on labelled frames: every matcher or the reason why not, its cost, and the saved table."""

import csv
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pipeline.assets import Library
from pipeline.evaluation import EvaluationError
from pipeline.evaluation.matcher_evaluation import VERDICT, MatcherEvaluation, read_truth, score_matchers
from pipeline.evaluation.matcher_table import markdown, to_csv, to_json
from pipeline.matching import LibraryFeatures
from pipeline.models import ModelError
from pipeline.planner import PlannerModel
from pipeline.segmentation import DepthSegmenter
from pipeline.segmentation.coco import decode_rle

ROOT = Path(__file__).resolve().parents[2]


class ReadingModel:
    name, has_vision = "reader-1", False

    def __init__(self, right, silent=False):
        self.right, self.silent, self.kinds = right, silent, []

    def ask(self, question):
        self.kinds.append(question.kind)
        if self.silent:
            raise ModelError("It is away.")
        lines = question.data["assets"].splitlines()
        number = next((k for k, line in enumerate(lines, 1) if self.right in line.replace(" ", "_")), 0)
        return question.answer_type(choice=number, scores=[], reason="read")


@pytest.fixture(scope="module")
def labelled(tmp_path_factory) -> Path:
    folder, scene = tmp_path_factory.mktemp("labelled"), ROOT / "sample_scenes" / "blocks"
    for name in ("rgb.png", "depth.png", "camera.json"):
        (folder / "one" / "truth").mkdir(parents=True, exist_ok=True)
        shutil.copy(scene / name, folder / "one" / name)
    objects = json.loads((scene / "expected.json").read_text())["objects"]
    labels = np.zeros(decode_rle(objects[0]["mask"]).shape, np.uint16)
    for number, one in enumerate(objects, 1):
        labels[decode_rle(one["mask"])] = number
    Image.fromarray(labels).save(folder / "one" / "truth" / "masks.png")
    (folder / "one" / "truth" / "truth.json").write_text('{"complete": true}')
    rows = [{"id": k, "exact": [t["asset_id"]], "category": []} for k, t in enumerate(objects, 1)]
    (folder / "assets.json").write_text(json.dumps({"frames": {"one": rows}}))
    return folder


@pytest.fixture(scope="module")
def library():
    return Library(tuple(a for a in Library.open() if a.id in {"red_cube", "blue_cube", "hammer", "pear", "red_ball"}))


@pytest.fixture
def evaluation(labelled, library, features, tmp_path):
    frames, truth = read_truth(labelled, labelled / "assets.json")
    return MatcherEvaluation(
        frames, truth, library, DepthSegmenter(), PlannerModel(), lambda: features, None, tmp_path, true_masks=True
    )


@pytest.fixture(scope="module")
def features(library):
    return LibraryFeatures.compute(library)


def last_table(evaluation, matchers=()):
    return [step.table for step in score_matchers(evaluation, matchers) if step.table][-1]


def test_an_unmeasurable_matcher_has_a_reason_and_the_others_are_scored(evaluation):
    table = last_table(evaluation)
    lines = {one.matcher: one for one in table.lines}
    assert list(lines) == ["all", "embedding", "text", "image", "image+text", "paper"]
    assert all(lines[one].unavailable for one in lines if one != "all")
    assert lines["all"].exact and lines["all"].exact.f1.f1 > 0 and table.frames == 1
    text = "\n".join(markdown(table))
    assert "not measured: it needs a language model" in text and "| all | " in text


def test_calls_of_a_matcher_are_counted_and_a_failed_call_is_no_match(evaluation):
    reading, away = ReadingModel("red_cube"), ReadingModel("", silent=True)
    right = last_table(replace(evaluation, model=reading), ["text"]).lines[0]
    assert right.calls == len(reading.kinds) > 0 and right.failed == 0 and right.usd is None
    missed = last_table(replace(evaluation, model=away, folder=evaluation.folder / "away"), ["text"]).lines[0]
    assert missed.failed == missed.calls > 0
    assert missed.exact and missed.exact.f1.f1 == 0 and missed.exact.first == 0
    assert VERDICT not in [one.matcher for one in last_table(replace(evaluation, model=reading), ["all"]).lines]


def test_the_table_is_read_back_from_json_and_csv(evaluation):
    table = last_table(evaluation, ["all"])
    value = json.loads(json.dumps(to_json(table), allow_nan=False))
    assert value["lines"][0]["exact"]["f1"]["f1"] == pytest.approx(table.lines[0].exact.f1.f1)
    assert len(value["rows"]["all"]) >= table.objects and {"chosen", "verdict"} <= set(value["rows"]["all"][0])
    rows = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert [row["counted"] for row in rows] == ["exact", "category"]
    assert float(rows[0]["f1"]) == pytest.approx(table.lines[0].exact.f1.f1, abs=1e-4)
    assert float(rows[0]["low"]) <= float(rows[0]["f1"]) <= float(rows[0]["high"])


def test_closing_the_evaluation_ends_it_after_the_current_step(evaluation):
    steps = score_matchers(evaluation, ["all"])
    assert next(steps).done == 0
    steps.close()  # type: ignore[attr-defined]
    assert list(steps) == []


@pytest.mark.parametrize(
    ("text", "word"),
    [("{", "JSONDecodeError"), ("[]", "TypeError"), ('{"frames": {"one": [{}]}}', "KeyError"), (None, "No such file")],
)
def test_truth_that_cannot_be_read_is_one_clear_line(labelled, tmp_path, text, word):
    file = tmp_path / "truth.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(EvaluationError, match=f"cannot be read as truth.*{word}"):
        read_truth(labelled, file)
    (tmp_path / "other.json").write_text('{"frames": {"two": []}}')
    with pytest.raises(EvaluationError, match="holds no frame"):
        read_truth(labelled, tmp_path / "other.json")
