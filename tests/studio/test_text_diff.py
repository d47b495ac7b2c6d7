"""Differences of texts."""

from hypothesis import given
from hypothesis import strategies as st

from studio.task.text_diff import diff_rows

LINES = st.lists(st.sampled_from(["a = 1", "b = 2", "", "return c"]), max_size=12)


@given(LINES, LINES)
def test_a_diff_with_full_context_contains_both_texts(left: list[str], right: list[str]):
    rows = [row for row in diff_rows(left, right, context=99) if row[0] != "gap"]
    if left != right:
        assert [row[2] for row in rows if row[1] is not None] == left
        assert [row[4] for row in rows if row[3] is not None] == right
