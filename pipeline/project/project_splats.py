"""The Gaussian splats of a project: files in splats/, and which of them draw the background and which object."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.assets.reconstruct.generated_asset import find_generated
from pipeline.project.project import Project
from pipeline.scene import Placement, Scene, SceneError
from pipeline.scene.splats.place_splats import SplatPlace, outside_the_table, place_before_camera, place_in_object
from pipeline.scene.splats.read_splats import SplatError, read_splats
from pipeline.scene.splats.splat_cloud import SPLAT, to_ply, transformed
from pipeline.store import digest, write_bytes

FOLDER = "splats"
PLACES = ("photo", "world")
"""Where the splats of a background are said to be: before the photograph's camera, or in the twin's world."""


@dataclass(frozen=True, eq=False)
class ChosenSplats:
    """The splats that draw the background or an object."""

    body: str
    """Name of the object; "world" for the background."""
    segment_id: int | None
    """None for the background."""
    name: str
    """Of the file that they came in."""
    source: str
    """How their place was found."""
    file: Path
    matrix: np.ndarray
    """world_from_splats, or object_from_splats of an object, of shape (4, 4)."""

    def read(self, scene: Scene) -> np.ndarray:
        """Return the splats (N,) in the frame of the body, without those of a background that lie over the table.

        Raises SplatError if their file is missing or damaged.
        """
        try:
            splats = np.frombuffer(self.file.read_bytes(), SPLAT)
        except (OSError, ValueError):
            raise SplatError(f"the splats of {self.name} cannot be read; undo their choice") from None
        placed = transformed(splats, self.matrix)
        return placed if self.segment_id is not None else placed[outside_the_table(placed, scene)]


def chosen_splats(project: Project, scene: Scene | None) -> tuple[ChosenSplats, ...]:
    """Return the splats that draw the twin, the background's first; none before there is a twin."""
    latest = {one.data.get("id"): one.data for one in project.active_decisions("splats")}
    bodies: Mapping[int | None, str] = (
        {None: "world", **{p.segment_id: p.name for p in scene.placements}} if scene else {}
    )
    return tuple(
        ChosenSplats(
            bodies[id], id, data["name"], data["source"], project.folder / FOLDER / f"{data['file']}.splat",
            np.array(data["matrix"], float),
        )
        for id, data in sorted(latest.items(), key=lambda one: one[0] or 0) if data["file"] and id in bodies
    )  # fmt: skip


def service_splats(project: Project, segment_id: int) -> Path | None:
    """Return the file of the splats that an image-to-3D service made with an object's mesh; None if there is none."""
    if not any((project.folder / "scene").glob("provided_*/splats.ply")):
        return None
    segment = next((one for one in project.segments() or () if one.id == segment_id), None)
    asset = segment and find_generated(project.frame, segment, project.folder / "scene")
    file = asset.mesh.parent / "splats.ply" if asset else None
    return file if file and file.is_file() else None


def take_splats(
    project: Project, file: Path, about: str = "", place: str | np.ndarray = "photo", name: str = ""
) -> dict[str, Any]:
    """Save the splats of a file in the project, and return the data of the decision "splats" that draws by them.

    Args:
        about: name of the object that they draw; empty for the background.
        place: of the background: one of PLACES, or world_from_splats of shape (4, 4).
        name: of the file as a person knows it.

    Raises SplatError, SceneError, StoreError.
    """
    scene = project.scene()
    if scene is None:
        raise SceneError(f"{project.name} has no twin yet; build it first")
    project.begin_writing()
    splats = read_splats(file)
    id = {} if not about else {"id": _placement(scene, about).segment_id}
    if about:
        found = place_in_object(splats, _placement(scene, about))
    elif isinstance(place, str) and place == "photo":
        found = place_before_camera(splats, project.observation)
    else:
        matrix = np.eye(4) if isinstance(place, str) else _similarity(place)
        found = SplatPlace(matrix, "in the twin's world" if isinstance(place, str) else "at the given pose")
    content = splats.tobytes()
    stem = digest("splats", content)[:16]
    write_bytes(project.folder / FOLDER / f"{stem}.splat", content)
    matrix = found.matrix.round(9).tolist()
    return {"file": stem, "name": (name or file.name)[:80], "matrix": matrix, "source": found.source, **id}


def export_splats(project_dir: Path, folder: Path) -> list[str]:
    """Write the splats as .ply files to splats/ in a folder, in the axes of their bodies; return their paths in it.

    Raises SplatError.
    """
    project = Project(project_dir)
    scene, names = project.scene(), []
    for one in chosen_splats(project, scene):
        assert scene is not None  # or none would be chosen
        name = f"{FOLDER}/{'background' if one.segment_id is None else one.body}.ply"
        write_bytes(folder / name, to_ply(one.read(scene)))
        names.append(name)
    return names


def _placement(scene: Scene, name: str) -> Placement:
    for one in scene.placements:
        if one.name == name:
            return one
    raise SplatError(f"there is no object {name}; there are: {', '.join(p.name for p in scene.placements)}")


def _similarity(matrix: np.ndarray) -> np.ndarray:
    """Return a matrix (4, 4) that turns, scales by one factor and shifts. Raises SplatError for another."""
    if matrix.shape == (4, 4) and np.isfinite(matrix).all() and np.allclose(matrix[3], [0, 0, 0, 1], atol=1e-6):
        factor = float(np.cbrt(np.linalg.det(matrix[:3, :3])))
        # A hundredth of the factor: what poses with four digits are off by
        if factor > 1e-6 and np.allclose(matrix[:3, :3] @ matrix[:3, :3].T / factor**2, np.eye(3), atol=0.01):
            return matrix
    raise SplatError("the pose of splats is a matrix of 4 x 4: a rotation times one positive factor, and a shift")
