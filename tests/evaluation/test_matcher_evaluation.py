"""Table 1 on labelled frames: verdicts, F1 and its interval, every matcher or why not, its cost; scores of masks."""

import csv
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bench.mask_scores import score_masks, simulate_clicks
from pipeline.assets import Library
from pipeline.evaluation import EvaluationError
from pipeline.evaluation.match_scores import MatchOutcome, frame_outcomes, recall_at, score
from pipeline.evaluation.matcher_evaluation import VERDICT, MatcherEvaluation, read_truth, score_matchers
from pipeline.evaluation.matcher_table import markdown, to_csv, to_json
from pipeline.matching import Candidate, LibraryFeatures, Match
from pipeline.models import ModelError
from pipeline.planner import PlannerModel
from pipeline.resources import SAMPLE_SCENES
from pipeline.segmentation import DepthSegmenter, decode_rle

MUG = {"id": 1, "exact": ["mug"], "category": ["cup"], "either": ["bowl"]}
NOTHING = {"id": 2, "exact": [], "category": [], "either": []}


def row(chosen, exact=("mug",), frame="a", ranked=("mug",)):
    category = frozenset({"cup"} if exact else ())
    return MatchOutcome(frame, frozenset(exact), category, frozenset({"bowl"}), chosen, ranked)


def test_a_substitute_is_right_as_a_category_and_not_counted_as_exact():
    for chosen, exact, category in (
        ("mug", "right", "right"),
        ("cup", "not counted", "right"),
        ("bowl", "not counted", "not counted"),
        ("can", "wrong", "wrong"),
        (None, "missed", "missed"),
    ):
        assert (row(chosen).verdict("exact"), row(chosen).verdict("category")) == (exact, category), chosen


def test_a_segment_counts_for_the_object_it_covers_and_without_one_only_no_match_is_right():
    truth = np.zeros((20, 20), int)
    truth[:8, :8], truth[12:, 12:] = 1, 2
    masks = {5: truth == 1, 6: truth == 2, 7: np.roll(truth == 1, 10, axis=1)}
    matches = [Match(s, "mug", 1.0, "", (Candidate("mug", 0.9, {}, ""),)) for s in masks]
    rows = frame_outcomes("a", matches, masks, truth, [MUG, NOTHING], complete=True)
    assert [one.verdict("exact") for one in rows] == ["right", "invented", "invented"]
    assert len(frame_outcomes("a", matches, masks, truth, [MUG, NOTHING], complete=False)) == 2
    assert frame_outcomes("a", [], {}, truth, [MUG], complete=True)[0].verdict("exact") == "missed"
    assert row(None, exact=()).verdict("exact") == "null kept"
    assert row("can", exact=()).verdict("category") == "invented"
    rows = [row("mug", frame=str(k % 4)) for k in range(9)] + [row("can", frame="1"), row(None, frame="2")]
    rows.append(row("can", exact=(), frame="3"))
    one = score(rows, "exact")
    assert one.f1 == pytest.approx(2 * one.precision * one.recall / (one.precision + one.recall))
    assert one.low <= one.f1 <= one.high and one.low < one.high
    assert score([row("mug")] * 3, "exact").f1 == 1 and recall_at(rows, "exact", 1) == 1


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
    folder, scene = tmp_path_factory.mktemp("labelled"), SAMPLE_SCENES / "blocks"
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


@pytest.fixture(scope="module")
def features(library):
    return LibraryFeatures.compute(library)


@pytest.fixture
def evaluation(labelled, library, features, tmp_path):
    frames, truth = read_truth(labelled, labelled / "assets.json")
    made = DepthSegmenter(), PlannerModel(), lambda: features
    return MatcherEvaluation(frames, truth, library, *made, None, tmp_path, true_masks=True)


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


def test_the_table_is_read_back_from_json_and_csv_and_an_evaluation_can_be_closed(evaluation):
    table = last_table(evaluation, ["all"])
    value = json.loads(json.dumps(to_json(table), allow_nan=False))
    assert value["lines"][0]["exact"]["f1"]["f1"] == pytest.approx(table.lines[0].exact.f1.f1)
    assert len(value["rows"]["all"]) >= table.objects and {"chosen", "verdict"} <= set(value["rows"]["all"][0])
    rows = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert [row["counted"] for row in rows] == ["exact", "category"]
    assert float(rows[0]["f1"]) == pytest.approx(table.lines[0].exact.f1.f1, abs=1e-4)
    assert float(rows[0]["low"]) <= float(rows[0]["f1"]) <= float(rows[0]["high"])
    steps = score_matchers(evaluation, ["all"])
    assert next(steps).done == 0
    steps.close()  # type: ignore[attr-defined]
    assert list(steps) == []


def test_truth_that_cannot_be_read_is_one_clear_line(labelled, tmp_path):
    for file, text, words in (
        ("absent.json", None, "cannot be read as truth.*No such file"),
        ("truth.json", "{", "cannot be read as truth.*JSONDecodeError"),
        ("truth.json", '{"frames": {"one": [{}]}}', "cannot be read as truth.*KeyError"),
        ("truth.json", '{"frames": {"two": []}}', "holds no frame"),
    ):
        if text is not None:
            (tmp_path / file).write_text(text)
        with pytest.raises(EvaluationError, match=words):
            read_truth(labelled, tmp_path / file)


def square(x: int, y: int, side: int) -> np.ndarray:
    mask = np.zeros((40, 60), bool)
    mask[y : y + side, x : x + side] = True
    return mask


def test_an_unlabelled_mask_is_wrong_in_complete_labels_only_and_a_worse_mask_counts_as_a_drop():
    truth, extra = [square(0, 0, 10), square(20, 0, 8)], square(30, 20, 10)
    assert score_masks([*truth, extra], truth, complete=True).precision == pytest.approx(2 / 3)
    assert score_masks([*truth, extra], truth, complete=False).precision is None
    assert score_masks([], truth, complete=True).recall == 0
    answers = iter([square(10, 10, 10) & (np.arange(60) < 19), square(0, 0, 3), square(10, 10, 10)])
    got = simulate_clicks(lambda *_: next(answers), square(10, 10, 10), max_clicks=5)
    assert got.iou == (0.9, 0.0, 1.0, 1.0, 1.0) and got.worst_drop == pytest.approx(0.9) and len(got.clicks) == 3
