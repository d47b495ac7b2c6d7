"""Projects in the gallery."""

from pathlib import Path
from typing import Any

import pytest
from offline_studio import FRAME

from pipeline.project import STAGES, Project
from studio.board.board_requests import project_record
from studio.board.project_index import BoardQuery, ProjectIndex


def projects(workspace: Path) -> list[dict[str, Any]]:
    index = ProjectIndex(workspace)
    index.refresh()
    return [project_record(name, facts) for name, facts in index.find(BoardQuery()).rows]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('{"number": 3, "clean": false}\n{"number": 4, "clean": true}\n', "all stages done"),
        ('{"number": 3, "clean": true}\n{"number": 4, "clean": false}\n', "round 4 failed"),
        ("", "all stages done"),
        ("damaged", "all stages done"),
    ],
)
def test_a_project_whose_newest_round_failed_says_so(lines: str, words: str, tmp_path: Path):
    project = Project.create(tmp_path / "whole", FRAME)
    for stage in STAGES:
        project.finish(stage, project.key(stage), "measured", 0.0)
    (project.folder / "rounds.jsonl").write_text(lines)
    (shown,) = projects(tmp_path)
    assert shown["about"].endswith(words)
