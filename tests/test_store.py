"""Memoised values and atomic writes."""

import pytest

from pipeline.store import memoise, read_json, write_json


def test_a_damaged_memoised_value_is_computed_again(tmp_path):
    assert memoise(tmp_path, "sum", lambda: 5) == 5 == memoise(tmp_path, "sum", lambda: 6)
    (tmp_path / "sum.json").write_text("{")
    assert memoise(tmp_path, "sum", lambda: 7) == 7 == read_json(tmp_path / "sum.json")


def test_a_failed_write_leaves_the_file_unchanged_and_no_temporary_file(tmp_path):
    write_json(tmp_path / "one.json", 1)
    with pytest.raises(UnicodeEncodeError):
        write_json(tmp_path / "one.json", "\ud800")
    assert read_json(tmp_path / "one.json") == 1 and [path.name for path in tmp_path.iterdir()] == ["one.json"]
