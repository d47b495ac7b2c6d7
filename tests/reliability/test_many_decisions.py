"""A decision costs the same however many there are, and what is updated equals what is computed from the first."""

from collections import Counter
from unittest.mock import patch

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline import decisions as log
from pipeline.decisions import Decision, History
from pipeline.models.model import STAGE_OF
from pipeline.project import STAGE_DECISIONS, STAGES, Project, project_masks, stage_keys
from pipeline.project.fold import Fold
from pipeline.project.mask_decisions import apply_mask_decision, apply_mask_decisions
from pipeline.project.stage_record import MASK_DECISIONS, QUESTION_DECISIONS
from pipeline.segmentation import encode_rle
from pipeline.store import digest

SHAPE = (48, 64)


def mask_at(row: int, column: int) -> dict:
    mask = np.zeros(SHAPE, bool)
    mask[row : row + 9, column : column + 12] = True
    return encode_rle(mask)


ids = st.integers(1, 4)
masks = st.builds(mask_at, st.integers(0, 40), st.integers(0, 55))
decided = st.one_of(
    st.builds(lambda i, m: ("mask", {"id": i, "mask": m, "clicks": []}), ids, masks),
    st.builds(lambda i: ("delete_segment", {"id": i}), ids),
    st.builds(lambda a, b: ("merge_segments", {"ids": [a, b], "into": a}), ids, ids),
    st.builds(lambda i, m: ("found", {"source": "depth", "masks": [{"id": i, "mask": m, "score": 1.0}]}), ids, masks),
    st.builds(lambda i, v: ("not_object", {"id": i, "value": v}), ids, st.booleans()),
    st.builds(lambda i: ("refit", {"id": i}), ids),
    st.builds(lambda k, a: ("use_measured", {"kind": k, "about": a}), st.sampled_from(sorted(STAGE_OF)), st.text()),
)
steps = st.lists(st.one_of(decided, st.sampled_from([("undo", {}), ("redo", {})])), max_size=40)


def replay(decisions):
    done, undone = [], []
    for one in decisions:
        if one.kind == "undo":
            undone += [done.pop()] if done else []
        elif one.kind == "redo":
            done += [undone.pop()] if undone else []
        else:
            done.append(one)
            undone = []
    return done, undone


@given(steps)
def test_a_history_and_its_views_equal_a_replay_after_every_step(made):
    history, decisions = History(), []
    masks = history.of_kinds(*MASK_DECISIONS)
    for kind, data in made:
        decisions.append(Decision(kind, data, at=0))
        history.add(decisions[-1])
        done, undone = replay(decisions)
        assert (history.active, history.undone) == (done, undone)
        assert masks == [one for one in done if one.kind in MASK_DECISIONS]


@given(steps, st.integers(1, 4))
def test_a_fold_with_any_memory_equals_the_fold_from_the_first(made, memory):
    history, fold = History(), Fold((), lambda before, one: (*before, one), memory)
    for kind, data in made:
        history.add(Decision(kind, data, at=0))
        assert fold.over(history.active) == tuple(history.active)


def key_from_the_first(project: Project, stage: str) -> str:
    """Return the key of a stage as its definition says, and as the first version computed it."""
    stages = STAGES[: STAGES.index(stage) + 1]
    kinds = {kind for one in stages for kind in STAGE_DECISIONS.get(one, ())}
    decided = [
        [d.kind, d.data]
        for d in log.active(project.decisions)
        if d.kind in kinds and (d.kind not in QUESTION_DECISIONS or STAGE_OF.get(d.data["kind"]) in stages)
    ]
    return digest(project.frame_key, {one: project.made_with(one) for one in stages[:-1]}, decided)


@given(made=steps)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])  # the log just grows
def test_keys_and_masks_after_every_step_equal_those_from_the_first(made, project):
    automatic = project.automatic_segments()
    for kind, data in made:
        project._log.add(Decision(kind, data))  # in memory: the disk is tested elsewhere
        assert [project.key(stage) for stage in STAGES] == [key_from_the_first(project, stage) for stage in STAGES]
        expected = apply_mask_decisions(automatic, project.active_decisions(*MASK_DECISIONS))
        shown = project.segments()
        assert [(s.id, s.source) for s in shown] == [(s.id, s.source) for s in expected]
        assert all(np.array_equal(a.mask, b.mask) for a, b in zip(shown, expected, strict=True))


def test_a_mask_on_top_of_ten_thousand_decisions_is_applied_and_hashed_once(project):
    decisions = [Decision("mask", {"id": 1 + i % 2, "mask": mask_at(i % 30, i % 40), "clicks": []}) for i in range(500)]
    for one in decisions * 20:
        project._log.add(one)
    project.stages()
    project.segments()
    calls = Counter()

    def counted(name, function):
        def call(*arguments):
            calls[name] += 1
            return function(*arguments)

        return call

    fold, hashed = project._masks._fold[1], stage_keys._with_decision
    with patch.object(fold, "_step", counted("applied", apply_mask_decision)):
        for entry in project._keys._folds.values():
            entry[1]._step = counted("hashed", hashed)
        project.decide("mask", id=1, mask=mask_at(3, 3), clicks=[])
        project.stages()
        project.undo()
        project.stages()
        project.redo()
        project.stages()
    assert calls["applied"] == 2 and calls["hashed"] <= 2 * len(STAGES), calls
    assert project_masks.REMEMBERED_EDITS < 100, "memory is bounded: a mask of a large frame has 25 MB"
