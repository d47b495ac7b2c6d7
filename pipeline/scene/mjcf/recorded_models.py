"""Models of recorded rollouts. They own their files: copies of the twin's, in the same folder, named by content.

So a round, a solution and the episodes of a policy play whatever becomes of the twin: objects that are renamed, fitted
again or taken away.
"""

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from pipeline.store import digest, temporary_beside

SOLUTIONS = "solutions"
"""Folder of a project with earlier solutions, each in a folder of its own."""
_FILE = re.compile(r"""(\bfile\w*\s*=\s*["'])([^"'/\\]+)(["'])""")
_OWN = re.compile(r"[0-9a-f]{24}\.\w+")


def named_files(xml: str) -> set[str]:
    """Return the names of the files that a model reads."""
    return {name for _, name, _ in _FILE.findall(xml)}


def with_own_files(xml: str, folder: Path) -> str:
    """Return a rollout's model with the twin's files, in `folder`, replaced by copies that no later twin changes.

    Raises StoreError.
    """
    twin = folder / "scene.xml"
    of_twin = named_files(twin.read_text("utf-8")) if twin.is_file() else set()

    def own(found: re.Match[str]) -> str:
        name = found[2]
        if name not in of_twin or not (folder / name).is_file():
            return found[0]
        return f"{found[1]}{_own_copy(folder / name).name}{found[3]}"

    return _FILE.sub(own, xml)


def _own_copy(path: Path) -> Path:
    copy = path.with_name(digest(path.read_bytes()) + path.suffix)
    if not copy.is_file():
        link_or_copy(path, copy)
    return copy


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file a second name, or copy it on a disk without hard links. It replaces `target` in one step."""
    with temporary_beside(target) as temporary:
        try:
            os.link(source, temporary)
        except OSError:
            shutil.copyfile(source, temporary)
        temporary.replace(target)


def needed_files(project_dir: Path) -> set[str]:
    """Return the names of the files in scene/ that recorded rollouts need."""
    folder = project_dir / "scene"
    models = [folder / "solution.xml", folder / "failure.xml", *project_dir.glob(f"{SOLUTIONS}/*/*.xml")]
    names = {path.name for path in models if path.parent == folder}
    for path in models:
        names |= named_files(path.read_text("utf-8")) if path.is_file() else set()
    return names | {path.name for path in folder.glob("*") if _OWN.fullmatch(path.name)}


def unneeded_files(scene_dir: Path) -> set[str]:
    """Return the files in scene/ that neither the twin nor the newest solution needs: those of earlier rollouts."""
    models: Iterable[Path] = (scene_dir / f"{name}.xml" for name in ("scene", "solution", "failure"))
    used: set[str] = set().union(*(named_files(path.read_text("utf-8")) for path in models if path.is_file()))
    return {path.name for path in scene_dir.glob("*") if _OWN.fullmatch(path.name) and path.name not in used}


def twin_digest(project_dir: Path) -> str:
    """Return a hash of the twin's model, which tells it from earlier ones; empty before there is a twin."""
    path = project_dir / "scene" / "scene.xml"
    return digest(path.read_bytes()) if path.is_file() else ""


def is_earlier_twin(recorded: str, project_dir: Path) -> bool:
    """Return whether the twin of a recording, by its digest, is known and another one than the present."""
    return recorded not in ("", twin_digest(project_dir))
