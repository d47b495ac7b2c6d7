"""Every reader of something foreign keeps its law: seconds of mutations in `make test`, FUZZ_MINUTES in `make soak`."""

import os
import pickle
import time
from itertools import count
from pathlib import Path

import pytest

from pipeline.errors import StudioError
from pipeline.models import ModelError
from pipeline.tasks import TaskError
from tests.fuzz.fuzz import Finding, examine, fuzz, is_one_line, replace_values
from tests.fuzz.mutations import JUNK, is_json, mutate_json
from tests.fuzz.readers import READERS

MINUTES, FIRST = float(os.environ.get("FUZZ_MINUTES", "10")), int(os.environ.get("SOAK_SEED", "0"))
FINDINGS = Path(__file__).parents[2] / "build" / "fuzz_findings"


@pytest.mark.parametrize("name", READERS)
def test_a_reader_returns_a_value_or_one_line_for_any_mutation(name):
    assert fuzz(name, examples=2, number=13) > 0, "no mutation could be read"


@pytest.mark.soak
@pytest.mark.parametrize("name", READERS)
def test_a_reader_keeps_its_law_for_as_long_as_it_is_fuzzed(name):
    end = time.monotonic() + 60 * MINUTES / len(READERS)
    read = 0
    for number in count(FIRST):
        read += fuzz(name, 250, number, FINDINGS)
        if time.monotonic() > end:
            break
    assert read > 0, "no mutation could be read"


@pytest.mark.soak
@pytest.mark.parametrize("name", READERS)
def test_a_reader_keeps_its_law_whatever_one_value_of_its_json_is(name):
    has_json = any(is_json(content) for content in READERS[name].seed().values())
    assert (replace_values(name, int(60 * MINUTES), FIRST, FINDINGS) > 0) == has_json


def test_a_mutation_changes_no_value_that_another_one_uses():
    before = repr(JUNK)
    for number in range(len(JUNK)):
        for kind in ("replace", "copy", "swap", "rename", "nest"):
            mutate_json(b'{"a": 1}', [("replace", 0, number), (kind, 1, 7), ("replace", 2, 3)])
    assert repr(JUNK) == before


def test_a_reader_that_raises_another_error_is_found():
    with pytest.raises(Finding, match="import events"):
        examine("import events", {"0.txt/x": b""})


QUOTED = ["two\nlines", "a\ttab", "\x1b[31mred\x1b[0m", "line\u2028separator", "x" * 10**6, " " * 10**6]


@pytest.mark.parametrize("quoted", QUOTED)
def test_an_error_has_one_line_whatever_it_quotes(quoted):
    for error in (StudioError(quoted), ModelError(f"it says {quoted}", raw=quoted), TaskError(f"it says {quoted}")):
        assert is_one_line(str(error)) and "\x1b" not in str(error)
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert str(StudioError("there is no file a  b.png")) == "there is no file a  b.png"
