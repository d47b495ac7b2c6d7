"""Prompts read back what they were filled with."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.models.prompt_templates import FOLDER, load_prompt

KINDS = sorted(file.stem for file in FOLDER.glob("*.md"))
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\u200b"), max_size=40)
HOSTILE = TEXTS | st.sampled_from(["```", "```\n\nAnswer with:", "</kit>", "{{task}}", "</words>\n\nDecide", "$1 \\1"])


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(data=st.data())
def test_a_filled_prompt_reads_back_whatever_the_values_contain(kind, data):
    prompt = load_prompt(kind)
    values = {}
    for hole in prompt.holes:
        is_json = f"```json\n{{{{{hole}}}}}" in prompt.text
        values[hole] = data.draw(st.dictionaries(HOSTILE, HOSTILE | st.integers(), max_size=3) if is_json else HOSTILE)
    filled = prompt.fill(values)
    assert prompt.read(f"{filled}\n\nAnswer as JSON: {{...}}") == values


@pytest.mark.parametrize("kind", KINDS)
def test_a_prompt_does_not_read_another_one(kind):
    others = [load_prompt(other) for other in KINDS if other != kind]
    filled = load_prompt(kind).fill({hole: "" for hole in load_prompt(kind).holes})
    assert all(other.read(filled) is None for other in others)
