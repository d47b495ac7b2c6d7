"""Export of the twin as MJCF: scene.xml with its meshes and textures beside it."""

from pathlib import Path

from pipeline.export.export_folder import export_folder, write_marker
from pipeline.export.export_format import ExportFormat, describes, require_scene
from pipeline.export.object_zip import files_of
from pipeline.export.project_zip import licences
from pipeline.export.twin_model import TwinModel
from pipeline.scene.mjcf.mesh_export import OLDEST_MUJOCO


@describes(
    ExportFormat("MuJoCo (MJCF)", "scene.xml with joints, collision pieces, materials and the camera", "", ".zip")
)
def export_mjcf(project_dir: Path, out: Path) -> None:
    """Write the twin to a folder, or to a zip if the name ends in .zip. Raises ExportError."""
    require_scene(project_dir)
    TwinModel(project_dir / "scene" / "scene.xml")  # a damaged twin is not passed on
    with export_folder(project_dir, out, "mjcf") as folder:
        scene = project_dir / "scene"
        text = (scene / "scene.xml").read_text(encoding="utf-8")
        (folder / "scene.xml").write_text(text, encoding="utf-8")
        for name, content in files_of(text, {file.name: file for file in scene.iterdir()}).items():
            (folder / name).write_bytes(content.read_bytes())
        (folder / "LICENCES.md").write_text(licences(project_dir), encoding="utf-8")
        write_marker(folder, project_dir, "mjcf", (), f"MuJoCo {OLDEST_MUJOCO} or newer")
