"""Export of the twin as MJCF: scene.xml with its meshes and textures beside it."""

from pathlib import Path

from pipeline.export.export_folder import export_folder
from pipeline.export.export_format import ExportFormat, describes, require_scene
from pipeline.export.project_zip import SCENE_FILES, licences
from pipeline.export.twin_model import TwinModel

SOLUTION_MODELS = ("solution.xml", "failure.xml")
"""Models of rollouts, which the folder scene/ holds too."""


@describes(
    ExportFormat("MuJoCo (MJCF)", "scene.xml with joints, collision pieces, materials and the camera", "", ".zip")
)
def export_mjcf(project_dir: Path, out: Path) -> None:
    """Write the twin to a folder, or to a zip if the name ends in .zip. Raises ExportError."""
    require_scene(project_dir)
    TwinModel(project_dir / "scene" / "scene.xml")  # a damaged twin is not passed on
    with export_folder(out, "mjcf") as folder:
        for file in sorted((project_dir / "scene").iterdir()):
            if file.is_file() and file.suffix in (*SCENE_FILES, ".jpg") and file.name not in SOLUTION_MODELS:
                (folder / file.name).write_bytes(file.read_bytes())
        (folder / "LICENCES.md").write_text(licences(project_dir), encoding="utf-8")
