"""Clear measurements hold against a model that errs; it decides where they are unclear."""

from dataclasses import replace

import numpy as np
import pytest

from pipeline.description import Attributes, Description
from pipeline.matching import Candidate, Match
from pipeline.matching.model import is_denied, keep_if_matched
from pipeline.matching.model.verdict import most_probable


def measured(confidence, *scores) -> Match:
    candidates = tuple(Candidate(f"asset_{k}", score, {}, "", 1.0) for k, score in enumerate(scores, 1))
    first = candidates[0]
    return Match(1, first.asset_id if first.score > 0.5 else None, 1.0, "", candidates, confidence=confidence)


def decided(match: Match, choice: int) -> int:
    return most_probable(match, match.candidates, choice)


@pytest.mark.parametrize("choice", [0, 2, 3])
def test_a_clear_match_holds_against_a_verdict_for_another_asset_or_none(choice):
    assert decided(measured(0.985, 0.99, 0.2, 0.1), choice) == 1


@pytest.mark.parametrize("choice", [0, 1, 2, 3])
def test_an_unclear_match_is_decided_by_the_model(choice):
    assert decided(measured(0.55, 0.6, 0.5, 0.4), choice) == choice


def test_an_asset_that_measurements_exclude_is_not_taken_from_a_model_but_a_near_one_is():
    match = measured(0.8, 0.95, 0.6, 0.01)
    assert decided(match, 3) == 1 and decided(match, 2) == 2


def test_more_confidence_never_makes_the_model_decide_where_it_did_not():
    for choice in (0, 2, 3):
        followed = [decided(measured(c, 0.9, 0.4, 0.2), choice) == choice for c in np.linspace(0.01, 0.999, 60)]
        assert followed == sorted(followed, reverse=True) and followed[0] and not followed[-1]


def test_without_a_measured_confidence_the_verdict_stands():
    assert decided(measured(None, 0.99, 0.1), 2) == 2


def description(is_object: bool, source: str) -> Description:
    attributes = Attributes("red", (200, 30, 30), "box", np.full(3, 0.1), 0.0, np.zeros(3), 0.001)
    return Description(1, is_object, "red_box", "a red box", attributes, source=source)


def test_what_a_model_takes_for_no_object_stays_one_only_if_it_clearly_matches():
    seen, denied = description(True, "measured"), description(False, "eyes-1")
    assert is_denied(seen, denied)
    assert not is_denied(seen, description(False, "human")) and not is_denied(denied, denied)
    kept = keep_if_matched(denied, measured(0.98, 0.99))
    assert kept.is_object and "eyes-1 says that this is not an object" in kept.warnings[-1]
    assert keep_if_matched(denied, measured(0.8, 0.95)) is denied
    assert keep_if_matched(denied, replace(measured(0.98, 0.99), asset_id=None)) is denied
