"""Scores of table 1: verdicts, F1 and its confidence interval."""

import numpy as np
import pytest

from pipeline.evaluation.match_scores import MatchOutcome, frame_outcomes, recall_at, score
from pipeline.matching import Candidate, Match

MUG = {"id": 1, "exact": ["mug"], "category": ["cup"], "either": ["bowl"]}
NOTHING = {"id": 2, "exact": [], "category": [], "either": []}


def row(chosen, exact=("mug",), frame="a", ranked=("mug",)):
    return MatchOutcome(
        frame, frozenset(exact), frozenset({"cup"} if exact else ()), frozenset({"bowl"}), chosen, ranked
    )


@pytest.mark.parametrize(
    ("chosen", "exact", "category"),
    [
        ("mug", "right", "right"),
        ("cup", "not counted", "right"),
        ("bowl", "not counted", "not counted"),
        ("can", "wrong", "wrong"),
        (None, "missed", "missed"),
    ],
)
def test_a_substitute_is_right_as_a_category_and_not_counted_as_exact(chosen, exact, category):
    assert (row(chosen).verdict("exact"), row(chosen).verdict("category")) == (exact, category)


def test_without_a_right_asset_only_no_match_is_right():
    assert row(None, exact=()).verdict("exact") == "null kept"
    assert row("can", exact=()).verdict("category") == "invented"


def test_f1_follows_from_precision_and_recall_and_lies_in_its_interval():
    rows = [row("mug", frame=str(k % 4)) for k in range(9)] + [row("can", frame="1"), row(None, frame="2")]
    rows.append(row("can", exact=(), frame="3"))
    one = score(rows, "exact")
    assert one.f1 == pytest.approx(2 * one.precision * one.recall / (one.precision + one.recall))
    assert one.low <= one.f1 <= one.high and one.low < one.high
    assert score([row("mug")] * 3, "exact").f1 == 1 and recall_at(rows, "exact", 1) == 1


def test_a_segment_counts_for_the_object_it_covers_and_a_spare_one_as_an_error():
    truth = np.zeros((20, 20), int)
    truth[:8, :8], truth[12:, 12:] = 1, 2
    masks = {5: truth == 1, 6: truth == 2, 7: np.roll(truth == 1, 10, axis=1)}
    matches = [Match(s, "mug", 1.0, "", (Candidate("mug", 0.9, {}, ""),)) for s in masks]
    rows = frame_outcomes("a", matches, masks, truth, [MUG, NOTHING], complete=True)
    assert [one.verdict("exact") for one in rows] == ["right", "invented", "invented"]
    assert len(frame_outcomes("a", matches, masks, truth, [MUG, NOTHING], complete=False)) == 2
    assert frame_outcomes("a", [], {}, truth, [MUG], complete=True)[0].verdict("exact") == "missed"
