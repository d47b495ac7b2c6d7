"""Policies are compared on the same conditions, each failure has its class, and nothing is measured twice."""

import json
from pathlib import Path

import numpy as np
import pytest

from pipeline.closed_loop.evaluation import Evaluation, EvaluationOptions
from pipeline.closed_loop.failure import CLASSES, failure_class
from pipeline.closed_loop.paired import paired_difference
from pipeline.divergence import Episode, read_episode
from studio.__main__ import main


def test_two_policies_get_the_same_conditions_and_their_difference_an_interval(solved, sandbox, tmp_path, capsys):
    both = "demonstration", "hold"
    policies = [word for policy in both for word in ("--policy", policy)]

    def run(count: int, out: Path, *more: str) -> int:
        return main(["evaluate-policy", str(solved), *policies, "--count", str(count), "--out", str(out), *more])

    at, options = tmp_path / "both", EvaluationOptions(both, count=2, seconds=12.0)
    steps = Evaluation(solved, at, options, None, sandbox).run()
    first = next(steps)
    steps.close()
    assert first[0] == "demonstration" and len((at / "outcomes.jsonl").read_text().splitlines()) == 1
    rest = list(Evaluation(solved, at, options, None, sandbox).run())
    assert [(policy, one.condition) for policy, one in rest] == [
        ("demonstration", "0-0001"), ("hold", "0-0000"), ("hold", "0-0001")
    ]  # fmt: skip
    data = Evaluation(solved, at, options, None, sandbox).finish()
    one, other = data["policies"]
    assert [row["condition"] for row in one["episodes"]] == [row["condition"] for row in other["episodes"]]
    assert one["success"] == 1 and other["success"] == 0 and data["paired"]["difference"] == -1
    assert one["low"] < 0.5 < other["high"] + 0.3 and data["paired"]["low"] <= -1 < data["paired"]["high"]
    assert {row["failure"] for row in one["episodes"]} == {None}
    assert {row["failure"] for row in other["episodes"]} == {"never_reached"}
    assert (
        data == json.loads((at / "evaluation.json").read_text())
        and "never touched what it had to move" in (at / "report.html").read_text()
    )
    kept = read_episode(at / "episodes" / "hold" / "0-0001.npz")
    assert kept.contacts["red_cube"].shape == (len(kept.times), 2)
    assert run(2, at, "--seconds", "11") == 2 and "holds conditions of another task" in capsys.readouterr().err
    assert run(0, tmp_path / "new", "--robot", "arm") == 2 and "add --count to try arm" in capsys.readouterr().err
    assert run(2, tmp_path / "same", "--policy", "hold") == 2 and "stands twice" in capsys.readouterr().err


LOW, HIGH = 0.0, 0.2


def episode(**objects: tuple[list[float], list[float], str]) -> Episode:
    """Return an episode of the objects' x and height, and who touches them: robot "r", others "o", both "b"."""
    count = max(len(xs) for xs, _, _ in objects.values())
    made = Episode.from_arrays(np.arange(count) * 0.1, np.linspace(0, 1, count)[:, None], ["joint"])
    for name, (xs, heights, touches) in objects.items():
        poses = np.zeros((count, 7))
        poses[:, 0], poses[:, 2], poses[:, 3] = xs, heights, 1
        made.objects[name] = poses  # type: ignore[index]
        made.contacts[name] = np.array([[t in "rb", t in "ob"] for t in touches])  # type: ignore[index]
    return made


STAYS = [0.0] * 6, [LOW] * 6, "oooooo"
CARRIED = [0, 0, 0, 0.2, 0.2, 0.2], [LOW, HIGH, HIGH, HIGH, LOW, LOW], "brrrbo"


@pytest.mark.parametrize(
    ("objects", "wanted"),
    [
        ({"cup": STAYS, "box": STAYS}, "never_reached"),
        ({"cup": STAYS, "box": CARRIED}, "wrong_object"),
        ({"cup": STAYS, "box": ([0, 0, 0.1, 0.2, 0.2, 0.2], [LOW] * 6, "obbbbo")}, "collision"),
        ({"cup": ([0] * 6, [LOW] * 6, "obbooo"), "box": STAYS}, "missed_grasp"),
        ({"cup": ([0] * 6, [LOW, HIGH, HIGH, LOW, LOW, LOW], "brrooo"), "box": STAYS}, "dropped"),
        ({"cup": CARRIED, "box": STAYS}, "wrong_place"),
        ({"cup": ([0] * 6, [LOW, LOW, LOW, LOW, HIGH, HIGH], "oobbrr"), "box": STAYS}, "time"),
        ({"cup": STAYS, "box": STAYS, "can": CARRIED}, "time"),
    ],
)  # fmt: skip
def test_a_failure_is_told_by_what_was_touched_and_where_it_went(objects, wanted):
    assert failure_class(episode(**objects), {"cup"}, {"can"}) == wanted in CLASSES


def test_a_paired_difference_is_found_and_no_difference_is_called_one():
    random, found, alarms, covered = np.random.default_rng(5), 0, 0, 0
    for _ in range(200):
        first, better, same = random.random((3, 200)) < np.array([[0.6], [0.75], [0.6]])
        pair, equal = paired_difference(first, better), paired_difference(first, same)
        found, alarms = found + (pair.p < 0.05), alarms + (equal.p < 0.05)
        covered += pair.low <= 0.15 <= pair.high
    assert found >= 0.85 * 200 and alarms <= 0.08 * 200 and covered >= 0.92 * 200
    none = paired_difference([True] * 5, [True] * 5)
    assert (none.difference, none.p) == (0, 1) and none.low < 0 < none.high
