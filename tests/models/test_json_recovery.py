"""JSON in replies is recovered if its meaning is clear and rejected if it is not."""

import contextlib
import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.models.client.json_recovery import MAX_REPLY_CHARS, UnreadableJson, recover_json, replace_surrogates

VALUE = {"name": "red // mug", "tags": ["a", "b"], "size": 0.5}
PLAIN = json.dumps(VALUE)
DRAFT = json.dumps(VALUE | {"size": 7})
CLEAR = {
    "fenced": f"```json\n{PLAIN}\n```",
    "with words after": f"{PLAIN}\nI hope that helps {{really}}.",
    "braces in the words before": f"As {{asked}} for {{}}, hm: {PLAIN}".replace("{}, ", ""),
    "commented": '{"name": "red // mug", // the name\n "tags": ["a", "b"], /* two */ "size": 0.5}',
    "trailing commas": '{"name": "red // mug", "tags": ["a", "b",], "size": 0.5,}',
    "last bracket cut off after a text": '{"size": 0.5, "tags": ["a", "b"], "name": "red // mug"',
    "beside an example without all fields": f'As in {{"name": "a"}}: {PLAIN}',
    "an end of thoughts in a text": '{"name": "red // mug", "tags": ["a", "b"], "size": 0.5, "note": "</think> {x}"}',
    "harmony without its tokens": f"analysisPerhaps {DRAFT}.assistantfinal{PLAIN}",
    "an end without a start": f"Perhaps {DRAFT}.\n</think>\n\n{PLAIN}",
}
CLEAR |= {
    f"thoughts between {start} and {end}": f"{start} maybe {DRAFT} or {{ {end}{PLAIN}"
    for start, end in {
        "<think>": "</think>", "[THINK]": "[/THINK]", "<Reasoning>": "</Reasoning>", "<seed:think>": "</seed:think>",
        "◁think▷": "◁/think▷", "<|START_THINKING|>": "<|END_THINKING|>", "<|channel>thought": "<channel|>",
        "<|channel|>analysis<|message|>": "<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>",
    }.items()
}  # fmt: skip
AMBIGUOUS = {
    "nothing": "",
    "thoughts without an end": f"<think>It may be {PLAIN}",
    "megabytes": PLAIN + " " * MAX_REPLY_CHARS,
    "two different objects": '{"name": "a"} or {"name": "b"}',
    "a key twice": '{"name": "a", "name": "b", "tags": [], "size": 1}',
    "cut in a text": '{"size": 0.5, "tags": [], "name": "red mu',
    "not a number": '{"name": "a", "tags": [], "size": NaN}',
    "an inner object that can be read": '{"name": oops, "inner": {"name": "a", "tags": [], "size": 1}}',
    "brackets that do not match": '{"name": "a", "tags": ["a"}, "size": 1}',
    "very deep": '{"a":' * 5000,
    "a number that no float holds": '{"name": "a", "tags": [], "size": 1e999}',
    "a number of 5,000 digits": '{"name": "a", "tags": [], "size": %s}' % ("9" * 5000),
    "one quote for strings": "{'name': 'a', 'tags': [], 'size': 1}",
}


@pytest.mark.parametrize("case", CLEAR)
def test_clear_objects_are_recovered(case):
    found = recover_json(CLEAR[case], tuple(VALUE))
    assert {name: found[name] for name in VALUE} == VALUE


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_ambiguous_replies_are_rejected(case):
    with pytest.raises(UnreadableJson):
        recover_json(AMBIGUOUS[case], tuple(VALUE))


texts = st.text(st.characters(blacklist_categories=("Cs",)), max_size=20)
values = st.dictionaries(texts, st.recursive(texts | st.integers() | st.booleans() | st.none(), st.lists, max_leaves=8))


@settings(max_examples=60, deadline=None)
@given(
    values, st.sampled_from(["", "Here: ", "```json\n"]), st.sampled_from(["", "\n```", " done"]), st.integers(1, 30)
)
def test_an_object_within_text_is_recovered_and_a_truncated_one_completely_or_not_at_all(value, before, after, cut):
    assert recover_json(before + json.dumps(value) + after) == value
    with contextlib.suppress(UnreadableJson):
        assert recover_json(json.dumps(value)[:-cut], tuple(value) or ("some",)) == value


@given(st.text("a\u00e9\U0001f600\ud83d\ude00\ufeff", max_size=8), st.booleans())
def test_recovered_texts_can_be_encoded(text, escaped):
    (back,) = recover_json(json.dumps({"a": text}, ensure_ascii=escaped)).values()
    assert back == replace_surrogates(text) and back.encode().decode() == back
    assert back == text or "\ufffd" in back or "\ud83d\ude00" in text


FRAGMENTS = (
    *("</think>{", "<|channel|>final", "/*", "{ /*", '{"', '"a\\', ", ", "{ ", "```", "<think>", "[{", "//\n"),
    *('{"a":1}', "9", "/**/", "\\", "'"),
)
READ_THEM = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
from pipeline.models.client.json_recovery import recover_json
for fragment in %r:
    for start in ('', '{"a": 1 ', '{"a": "', '{"a": [1'):
        for end in ('', '}', '"}', ']}'):
            try:
                recover_json(start + fragment * (%d // len(fragment)) + end, ("a",))
            except ValueError:
                pass
"""


def test_the_longest_nonsense_is_read_in_the_time_of_one_call():
    """In a process of its own: a regular expression that runs away cannot be stopped by a thread."""
    script = READ_THEM % (FRAGMENTS, (MAX_REPLY_CHARS - 20) // 4)
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
