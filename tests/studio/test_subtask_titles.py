"""Titles of subtasks on the Learn page."""

import pytest

from pipeline.object_words import ObjectWords
from studio.learn.reward_words import subtask_title
from studio.texts import current_language

WORDS = ObjectWords({"cube": "red cube", "mug": "mug"}, {"mug": "Grandma's mug"})


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("reach_cube", "Reach the red cube"),
        ("pick_mug", "Pick Grandma's mug"),
        ("open_left_drawer", "Open left drawer"),
        ("stir", "Stir"),
        ("turn_cube", "Turn the red cube"),
    ],
)
def test_a_title_begins_with_the_verb_and_calls_the_object_as_people_do(name: str, title: str):
    assert subtask_title(name, WORDS) == title


def test_a_title_is_in_the_language_of_the_page():
    token = current_language.set("de")
    try:
        assert subtask_title("push_mug", WORDS) == "Schieben: Grandma's mug"
    finally:
        current_language.reset(token)
