"""Of an open project, what was recorded can be compared, and nothing else."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from studio.compare.project_sources import project_episode, project_episodes
from studio.server.errors import RequestError


def session(folder: Path, rounds: int) -> Any:
    project = SimpleNamespace(folder=folder, rounds=lambda: [SimpleNamespace(number=n) for n in range(rounds)])
    return SimpleNamespace(project=project)


def record(folder: Path, number: int) -> Path:
    path = folder / "rounds" / f"{number:03d}"
    path.mkdir(parents=True)
    (path / "record.npz").touch()
    return path


def test_the_solution_and_the_rounds_with_a_record_are_offered_newest_first(tmp_path):
    assert project_episodes(session(tmp_path, 3)) == []
    folders = {number: record(tmp_path, number) for number in (0, 2)}
    (tmp_path / "solution.json").touch()
    offered = [each["source"] for each in project_episodes(session(tmp_path, 3))]
    assert offered == ["solution", "round 2", "round 0"]
    assert project_episode(session(tmp_path, 3), "solution") == tmp_path
    assert project_episode(session(tmp_path, 3), "round 2") == folders[2]


@pytest.mark.parametrize("source", ["round 1", "round 3", "solution", "round ../../x", "", None, 0, "../rounds/000"])
def test_what_was_not_recorded_is_refused(tmp_path, source):
    record(tmp_path, 0)
    with pytest.raises(RequestError):
        project_episode(session(tmp_path, 2), source)
