"""A short run of `make fuzz` over every reader of something foreign."""

import os

import pytest

from tests.fuzz.fuzz import Finding, examine, fuzz
from tests.fuzz.readers import READERS

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "4"))
"""For each reader: about ten seconds in all."""


@pytest.mark.parametrize("name", READERS)
def test_a_reader_returns_a_value_or_one_line_for_any_mutation(name):
    assert fuzz(name, EXAMPLES, number=13) > 0, "no mutation could be read"


def test_a_reader_that_raises_another_error_is_found():
    with pytest.raises(Finding, match="import events"):
        examine("import events", {"0.txt/x": b""})
