"""The log of decisions: undo, redo, and what survives a crash; memoised values and atomic writes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.decisions import DECISION_DATA, Decision, DecisionError, active, append, read_log, undone
from pipeline.store import memoise, read_json, write_json

ids = st.integers(1, 9)
made = st.one_of(
    st.builds(lambda i: Decision("delete_segment", {"id": i}), ids),
    st.builds(lambda i, n: Decision("rename", {"id": i, "name": n}), ids, st.text(max_size=8)),
    st.builds(lambda i, v: Decision("not_object", {"id": i, "value": v}), ids, st.booleans()),
)
steps = st.one_of(made, st.just(Decision("undo", {})), st.just(Decision("redo", {})))
logs = st.lists(steps, max_size=20).map(tuple)


@given(logs, made)
def test_undo_gives_what_held_before_redo_the_decision_and_a_new_one_ends_what_could_be_redone(log, decision):
    assert active((*log, decision, Decision("undo", {}))) == active(log)
    after = (*log, decision)
    assert active((*after, Decision("undo", {}), Decision("redo", {}))) == active(after)
    assert undone((*log, decision)) == ()


@given(logs)
def test_a_log_reads_back_as_it_was_written(tmp_path_factory, log):
    path = tmp_path_factory.mktemp("log") / "decisions.jsonl"
    for decision in log:
        append(path, decision)
    assert read_log(path) == log


@given(logs, made, st.integers(1, 30))
def test_an_incomplete_last_line_loses_only_itself(tmp_path_factory, log, decision, cut):
    path = tmp_path_factory.mktemp("log") / "decisions.jsonl"
    for one in (*log, decision):
        append(path, one)
    path.write_bytes(path.read_bytes()[: -cut - 1])
    assert read_log(path) == log
    append(path, decision)
    assert read_log(path) == (*log, decision)


def test_half_a_surrogate_pair_is_saved_as_typed_and_a_damaged_line_in_the_middle_is_named(tmp_path):
    typed = Decision("rename", {"id": 1, "name": "cup \ud83d"})  # a browser cuts text between UTF-16's halves
    append(tmp_path / "decisions.jsonl", typed)
    assert read_log(tmp_path / "decisions.jsonl") == (typed,)
    path = tmp_path / "decisions.jsonl"
    line = json.dumps({"kind": "undo", "data": {}, "at": 0, "by": "human"})
    path.write_text(f"{line}\nnonsense\n{line}\n")
    with pytest.raises(DecisionError, match="line 2"):
        read_log(path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(sorted(set(DECISION_DATA) - {"undo", "redo"})), st.data())
def test_whatever_is_accepted_can_be_read_again(tmp_path_factory, kind, data):
    path = tmp_path_factory.mktemp("log") / "decisions.jsonl"
    try:
        append(path, Decision(kind, {key: data.draw(json_values) for key in DECISION_DATA[kind]}))
    except DecisionError as refused:
        assert "cannot be saved" in str(refused) and not path.exists()
    else:
        assert len(read_log(path)) == 1


@pytest.mark.parametrize("kind, data", [("teleport", {}), ("rename", {"id": 3})])
def test_an_unknown_or_incomplete_decision_is_refused(kind, data):
    with pytest.raises(DecisionError, match=r"there are:|lacks name"):
        Decision(kind, data)


def test_a_damaged_memoised_value_is_computed_again_and_a_failed_write_changes_nothing(tmp_path):
    assert memoise(tmp_path, "sum", lambda: 5) == 5 == memoise(tmp_path, "sum", lambda: 6)
    (tmp_path / "sum.json").write_text("{")
    assert memoise(tmp_path, "sum", lambda: 7) == 7 == read_json(tmp_path / "sum.json")
    write_json(tmp_path / "one.json", 1)
    with pytest.raises(UnicodeEncodeError):
        write_json(tmp_path / "one.json", "\ud800")
    assert read_json(tmp_path / "one.json") == 1 and [path.name for path in tmp_path.iterdir()] == ["one.json"]
