"""The files that were given together with a model: it may name these, and no others are ever opened."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from trimesh.resolvers import Resolver

from pipeline.assets.asset import AssetError
from pipeline.assets.importers.obj_repair import consistent_obj

MAX_FILE_BYTES = 512 << 20
MAX_TOTAL_BYTES = 2 << 30
URL_SCHEME = re.compile(r"^(package|model|file)://")
PART_FOLDERS = {"meshes", "textures", "materials", "urdf", "mjcf", "objects", "visual", "collision"}
"""Folders that hold one kind of an asset's files."""
OBJ_GROUP = re.compile(rb"^[ \t]*[go][ \t].*$", re.MULTILINE)
"""Where a group or an object of an OBJ file begins: MuJoCo reads only the first."""


def enclosing_folder(model: Path) -> Path:
    """Return the folder with the files that a model names, as robosuite, ROS and Google Scanned Objects lay them out:
    its own, or the one above with folders of meshes and pictures beside that."""
    for folder in model.absolute().parents[1:3]:
        beside = {entry.name for entry in folder.iterdir() if entry.is_dir()}
        if beside & PART_FOLDERS and model.parent.name in PART_FOLDERS:
            return folder
    return model.absolute().parent


@dataclass(frozen=True)
class Drop:
    """A folder that holds a model and all its files."""

    root: Path

    def find(self, name: str, folders: Iterable[Path]) -> Path | None:
        """Return the file at this path in one of the folders, else the first of this name in the drop; None if none.

        Links are followed only to files in the drop.
        """
        name = URL_SCHEME.sub("", name).replace("\\", "/")
        for folder in folders:
            if not Path(name).is_absolute() and (inside := self.inside(folder / name)):
                return inside
        same_name = Path(name).name
        candidates = self.root.rglob(same_name) if same_name and not set(same_name) & set("*?[") else ()
        return next((inside for path in sorted(candidates) if (inside := self.inside(path))), None)

    def inside(self, path: Path) -> Path | None:
        """Return a path without links if it is a regular file in the drop; None for any other."""
        try:
            resolved = path.resolve()
            return resolved if resolved.is_relative_to(self.root.resolve()) and resolved.is_file() else None
        except (OSError, ValueError, RuntimeError):  # a name with a null byte, too long, or links in a circle
            return None

    def read(self, path: Path) -> bytes:
        """Return the content of a file that `find` or `inside` returned. Raises AssetError."""
        try:
            if path.stat().st_size > MAX_FILE_BYTES:
                raise AssetError(f"{path.name} is larger than {MAX_FILE_BYTES >> 20} MB; reduce it first")
            return path.read_bytes()
        except OSError as error:
            raise AssetError(f"{path.name} cannot be read: {error.strerror}") from None


class NamedFiles(Resolver):
    """The files that a mesh file names, for trimesh's readers: at their path, else by base name in the drop."""

    def __init__(self, drop: Drop, folder: Path):
        self._drop, self._folder = drop, folder
        self.missing: list[str] = []
        """Base names of those that are not in the drop."""

    def get(self, key: str) -> bytes:
        """Return a file's content. Raises FileNotFoundError, and AssetError for a file that cannot be read."""
        file = self._drop.find(key, (self._folder, self._drop.root))
        if file is None:
            self.missing.append(Path(key.replace("\\", "/")).name)
            raise FileNotFoundError(2, "not given", key)
        return self._drop.read(file)

    def write(self, name: str, data: object) -> None:
        """Refuse: nothing is written here."""
        raise NotImplementedError

    def namespaced(self, namespace: str) -> "NamedFiles":
        """Return the files that are named from a folder below."""
        return NamedFiles(self._drop, self._folder / namespace)

    def keys(self) -> list[str]:
        """Return no names: files are found when they are asked for."""
        return []


class ModelFiles:
    """The content of a model's files under the names that its XML gives them: MuJoCo compiles them from memory."""

    def __init__(self, drop: Drop, repairs: list[str]):
        """`repairs` gets a sentence for each file that was changed."""
        self.drop, self._repairs = drop, repairs
        self.content: dict[str, bytes] = {}
        self._names: dict[Path, str] = {}

    def add(self, path: Path) -> str:
        """Take up a file of the drop and return its name in memory. Raises AssetError."""
        if path not in self._names:
            content = self.drop.read(path)
            if path.suffix.lower() == ".obj":
                content, changes = consistent_obj(OBJ_GROUP.sub(b"", content), path.name)
                self._repairs += changes
            self._names[path] = self.add_content(path.name, content)
        return self._names[path]

    def path_of(self, name: str) -> Path | None:
        """Return the file of the drop that has this name in memory."""
        return next((path for path, known in self._names.items() if known == name), None)

    def add_content(self, name: str, content: bytes) -> str:
        """Take up a file's content and return its name in memory. Raises AssetError."""
        if sum(map(len, self.content.values())) + len(content) > MAX_TOTAL_BYTES:
            raise AssetError(f"its files have more than {MAX_TOTAL_BYTES >> 30} GB; reduce them first")
        unique = f"{len(self.content):02d}_{re.sub(r'[^A-Za-z0-9._-]', '_', name)[-80:]}"
        self.content[unique] = content
        return unique
