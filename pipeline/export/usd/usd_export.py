"""The exporter of OpenUSD; importable without usd-core."""

import shutil
from pathlib import Path

from pipeline.export.export_folder import export_folder, write_marker
from pipeline.export.export_format import ExportError, ExportFormat, describes, require_scene
from pipeline.export.project_zip import licences
from pipeline.export.twin_model import TwinModel
from pipeline.project.project_splats import export_splats
from pipeline.scene.scene_files import read_scene
from pipeline.store import temporary_beside

STAGE_FILES = (".usdz", ".usd", ".usda", ".usdc")


@describes(
    ExportFormat(
        "OpenUSD", "rigid bodies, masses, convex colliders, joints, materials with textures, the camera",
        "lights; contact settings but friction", ".zip", "usd", "pxr",
    )
)  # fmt: skip
def export_usd(project_dir: Path, out: Path) -> tuple[str, ...]:
    """Write twin.usdc and its textures to a folder, or to a zip if the name ends in .zip; return what was left out.

    Gaussian splats go to splats/ beside the stage. A name in .usdz gets one file with all else, one in .usd, .usda or
    .usdc a stage whose textures lie in a folder beside it. z is up and lengths are metres. Raises ExportError.
    """
    from pipeline.export.usd.stage import save_as, write_stage  # needs usd-core

    require_scene(project_dir)
    if out.suffix.lower() in STAGE_FILES:
        if out.is_dir():
            raise ExportError(f"{out} is a folder; give the file another name")
        with temporary_beside(out) as staged:
            staged.mkdir()
            left_out = write_stage(TwinModel(project_dir / "scene" / "scene.xml"), read_scene(project_dir), staged)
            save_as(staged / "twin.usdc", out)
            shutil.rmtree(staged)
        return left_out
    with export_folder(project_dir, out, "usd") as folder:
        twin = TwinModel(project_dir / "scene" / "scene.xml")
        left_out = write_stage(twin, read_scene(project_dir), folder)
        (folder / "LICENCES.md").write_text(licences(project_dir), encoding="utf-8")
        write_marker(folder, project_dir, "usd", left_out, splats=export_splats(project_dir, folder))
    return left_out
