import numpy as np
import pytest

from bench.task_pairs import FORMS, GROUPS, NAMES, set_pairs
from pipeline.task_generation.generate import profile_of
from pipeline.task_generation.similarity import mean_distance, plane_positions, similarity_matrix, vendi_score
from pipeline.tasks import Task


def profiles(*goals_of_tasks):
    return [profile_of(Task("a", " ".join(goals) + " now", (), goals), NAMES) for goals in goals_of_tasks]


ALL = profiles(*[(goal.format(a="red_cube", b="bowl"),) for _, goal in FORMS], ("apple is inside bowl",))


def test_similarity_is_symmetric_kept_on_the_map_and_tells_diverse_sets_from_repetitive_ones():
    matrix = similarity_matrix(ALL)
    assert np.diag(matrix) == pytest.approx(1) and matrix == pytest.approx(matrix.T) and matrix.min() >= 0
    assert np.linalg.eigvalsh(matrix).min() > -1e-9
    places = plane_positions(np.eye(3))
    sides = [np.linalg.norm(places[i] - places[j]) for i, j in ((0, 1), (1, 2), (0, 2))]
    assert sides == pytest.approx([1, 1, 1])
    for diverse, repetitive in set_pairs():
        one, other = (similarity_matrix([profile_of(task, NAMES) for task in tasks]) for tasks in (diverse, repetitive))
        assert mean_distance(one) > mean_distance(other) and vendi_score(one) > vendi_score(other)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_the_vendi_score_counts_equal_tasks_as_one_and_unlike_ones_as_many(count):
    assert vendi_score(np.ones((count, count))) == pytest.approx(1)
    assert vendi_score(np.eye(count)) == pytest.approx(count)


@pytest.mark.parametrize("group", GROUPS)
def test_the_same_task_in_other_words_is_a_repeat_and_a_task_of_other_goals_is_not(group):
    same, different = GROUPS[group]
    assert not [pair.why for pair in same if not pair.is_repeat]
    assert not [pair.why for pair in different if pair.is_repeat]
