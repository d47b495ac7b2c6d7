"""Data flows one way, and so do imports."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = (
    "errors", "geometry", "frame", "segmentation", "models", "description", "assets", "matching", "choosing", "scene",
    "tasks", "simulation", "solving", "router", "rehearsal", "evaluation", "decisions", "store", "project", "looking",
    "export", "run",
)  # fmt: skip
ANYWHERE = {"store"}
"""Rooms without a place in the line: files that survive a crash."""


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", sorted((ROOT / "pipeline").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_room_imports_only_rooms_above_it_and_never_the_app(path):
    names = imported(path)
    assert not {n for n in names if n.split(".")[0] in ("gradio", "components", "studio")}
    room = path.relative_to(ROOT / "pipeline").with_suffix("").parts[0]
    if room == "__init__":
        return
    assert room in ROOMS, f"{room} is not in docs/architecture.md's line of rooms"
    above = set(ROOMS[: ROOMS.index(room) + 1]) | ANYWHERE
    rooms = {n.split(".")[1] for n in names if n.startswith("pipeline.") and n.split(".")[1] in ROOMS}
    assert not rooms - above, f"{room} imports {', '.join(sorted(rooms - above))} from below it"


def test_components_know_nothing_of_the_pipelines_steps():
    files = list((ROOT / "components").rglob("*.py"))
    assert files
    for path in files:
        assert not {n for n in imported(path) if n.split(".")[0] in ("pipeline", "studio")}, path
