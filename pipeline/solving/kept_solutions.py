"""Earlier solutions of a project, in solutions/<key>/ by the hash of what they were made from.

A solution comes back with its films when its inputs do: when an edit is undone, or an earlier task is chosen again.
"""

from pathlib import Path

from pipeline.scene.mjcf.recorded_models import SOLUTIONS, link_or_copy
from pipeline.solving.solution_files import FILES
from pipeline.store import temporary_beside


def keep_solution(project_dir: Path, key: str) -> None:
    """Keep the project's solution under the hash of its inputs, unless one is. Raises OSError."""
    kept = _folder(project_dir, key)
    if kept.is_dir() or not (project_dir / FILES[0]).is_file():
        return
    kept.parent.mkdir(exist_ok=True)
    with temporary_beside(kept) as temporary:
        temporary.mkdir()
        for name in FILES:
            if (project_dir / name).is_file():
                link_or_copy(project_dir / name, temporary / Path(name).name)
        temporary.rename(kept)


def take_up_solution(project_dir: Path, key: str) -> bool:
    """Put a kept solution in the place of the present one; return whether there is one. Raises OSError.

    solution.json comes last: without it a project that was killed meanwhile has no solution, and takes it up again.
    """
    kept = _folder(project_dir, key)
    if not kept.is_dir():
        return False
    remove_solution(project_dir)
    for name in reversed(FILES):
        if (kept / Path(name).name).is_file():
            link_or_copy(kept / Path(name).name, project_dir / name)
    return True


def remove_solution(project_dir: Path) -> None:
    """Remove the present solution; those that are kept stay."""
    for name in FILES:
        (project_dir / name).unlink(missing_ok=True)


def _folder(project_dir: Path, key: str) -> Path:
    return project_dir / SOLUTIONS / key[:24]
