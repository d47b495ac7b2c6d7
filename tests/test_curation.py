"""Effort and agreement of people: laws over random labels and masks, and logs that were written by hand."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.curation.agreement import Annotation, agreement, cohens_kappa, same_frames
from pipeline.curation.effort import frame_effort, summarise_effort
from pipeline.decisions import Decision, append
from pipeline.frame import Frame, Intrinsics, save

labels = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=2, max_size=30)


@given(labels)
def test_kappa_is_symmetric_at_most_one_and_one_for_equal_labels(pairs: list[tuple[str, str]]):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    kappa = cohens_kappa(first, second)
    assert kappa == cohens_kappa(second, first) and (kappa is None or -1 <= kappa <= 1)
    assert cohens_kappa(first, first) == (None if len(set(first)) == 1 else 1)
    renamed = {"a": "z", "b": "a", "c": "q"}
    again = cohens_kappa([renamed[one] for one in first], [renamed[one] for one in second])
    assert again is None if kappa is None else again == pytest.approx(kappa)


def test_kappa_is_that_of_a_published_table_and_an_empty_annotation_agrees_with_nothing():
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohens_kappa(first, second) == pytest.approx(0.4)
    rng = np.random.default_rng(0)
    assert abs(cohens_kappa(rng.integers(3, size=20000).tolist(), rng.integers(3, size=20000).tolist()) or 1) < 0.03
    nothing = Annotation({}, {})
    assert agreement(nothing, nothing).both == 0 and agreement(nothing, nothing).pixel_kappa is None
    assert agreement(FIRST, nothing).only_first == 3 and agreement(FIRST, nothing).iou is None


def square(left: int, top: int, size: int = 10) -> np.ndarray:
    mask = np.zeros((60, 80), bool)
    mask[top : top + size, left : left + size] = True
    return mask


def annotation(*places: tuple[int, int, str]) -> Annotation:
    ids = range(1, len(places) + 1)
    named = dict(zip(ids, places, strict=True))
    return Annotation({id: square(*one[:2]) for id, one in named.items()}, {id: one[2] for id, one in named.items()})


FIRST = annotation((5, 5, "mug"), (30, 5, "bowl"), (55, 5, "box"))


@given(st.permutations([0, 1, 2]), st.integers(0, 9))
def test_masks_agree_in_any_order_of_ids_as_far_as_one_is_not_shifted(order: list[int], shift: int):
    places = (5 + shift, 5, "mug"), (30, 5, "bowl"), (55, 5, "box")
    other = annotation(*(places[index] for index in order))
    found, back, overlap = agreement(FIRST, other), agreement(other, FIRST), (10 - shift) / (10 + shift)
    assert (back.iou, back.pixel_kappa, back.label_kappa) == (found.iou, found.pixel_kappa, found.label_kappa)
    assert found.both == (3 if overlap >= 0.5 else 2)
    assert found.iou == pytest.approx((2 + overlap) / 3 if overlap >= 0.5 else 1)
    if not shift:
        assert (found.iou, found.both, found.only_first, found.only_second) == (1, 3, 0, 0)
        assert found.pixel_kappa == pytest.approx(1) and found.label_kappa == pytest.approx(1)


def test_projects_of_one_frame_are_paired_and_others_are_not(tmp_path: Path):
    for name, colour in (("a", 1), ("b", 2), ("c", 1)):
        rgb = np.full((20, 30, 3), colour, np.uint8)
        save(Frame(rgb, np.ones((20, 30), np.float32), Intrinsics(30, 20, 30, 30, 15, 10)), tmp_path / name / "frame")
    assert [(a.name, b.name) for a, b in same_frames(sorted(tmp_path.iterdir()))] == [("a", "c")]


@given(
    st.lists(
        st.tuples(st.none() | st.integers(1, 3), st.floats(0, 100), st.integers(0, 9), st.integers(0, 9)), max_size=12
    )
)
def test_effort_is_the_sum_of_what_the_reviews_measured(tmp_path_factory, reviews: list[tuple]):
    folder = tmp_path_factory.mktemp("project")
    assert frame_effort(folder) is None
    for id, seconds, pointer, key in reviews:
        data = {"verdict": "accepted", "seconds": seconds, "pointer_presses": pointer, "key_presses": key}
        append(folder / "decisions.jsonl", Decision("review", data if id is None else {**data, "id": id}))
    found = frame_effort(folder)
    if not reviews:
        assert found is None
        return
    assert found and found.is_measured and found.seconds == pytest.approx(sum(one[1] for one in reviews))
    assert found.presses == sum(one[2] + one[3] for one in reviews)
    by_object = Counter(one[0] for one in reviews if one[0] is not None)
    assert set(found.objects) == set(by_object)


def test_effort_without_a_review_is_the_time_between_decisions_and_is_not_called_measured(tmp_path: Path):
    for at, kind, data in (
        (0, "rename", {"id": 1, "name": "mug"}), (30, "display_name", {"id": 1, "name": "Mug"}),
        (5000, "choose_asset", {"id": 2, "asset_id": "x"}), (5010, "undo", {}),
    ):  # fmt: skip
        append(tmp_path / "decisions.jsonl", Decision(kind, data, at=at))
    found = frame_effort(tmp_path)
    assert found and not found.is_measured and found.seconds == 40 and found.presses == 0
    assert dict(found.corrections) == {"Name": 2, "Asset": 1}
    summary = summarise_effort([found])
    assert summary.seconds_per_frame is None and summary.corrections[0] == ("Name", 2)
