"""Export of the twin as MJCF: scene.xml with its meshes and textures beside it."""

from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from pipeline.export.export_folder import export_folder, write_marker
from pipeline.export.export_format import ExportFormat, describes, require_scene
from pipeline.export.object_zip import files_of
from pipeline.export.project_zip import licences
from pipeline.export.twin_model import TwinModel
from pipeline.scene.mjcf.mesh_export import OLDEST_MUJOCO


@describes(
    ExportFormat(
        "MuJoCo (MJCF)",
        "scene.xml with joints, collision pieces, materials and the camera",
        "what the photograph shows around the table, Gaussian splats",
        ".zip",
    )
)
def export_mjcf(project_dir: Path, out: Path) -> None:
    """Write the twin to a folder, or to a zip if the name ends in .zip. Raises ExportError."""
    require_scene(project_dir)
    twin = TwinModel(project_dir / "scene" / "scene.xml")  # a damaged twin is not passed on
    with export_folder(project_dir, out, "mjcf") as folder:
        scene = project_dir / "scene"
        text = explicit((scene / "scene.xml").read_text(encoding="utf-8"), twin)
        (folder / "scene.xml").write_text(text, encoding="utf-8")
        for name, content in files_of(text, {file.name: file for file in scene.iterdir()}).items():
            (folder / name).write_bytes(content.read_bytes())
        (folder / "LICENCES.md").write_text(licences(project_dir), encoding="utf-8")
        write_marker(folder, project_dir, "mjcf", (), f"MuJoCo {OLDEST_MUJOCO} or newer")


def explicit(text: str, twin: TwinModel) -> str:
    """Return an MJCF with what its readers assume differently: the bodies' inertias, and several contacts a pair.

    robosuite takes inertias from the geoms of group 0. Newton, and MuJoCo before the flag was on by default, compute
    one contact for a pair of meshes, on which objects of several pieces tilt.
    """
    root = ElementTree.fromstring(text)
    option = next(root.iter("option"))
    flag = option.find("flag")
    (SubElement(option, "flag") if flag is None else flag).set("multiccd", "enable")
    for element, body in zip(root.iter("body"), twin.bodies[1:], strict=True):
        if body.mass and element.find("inertial") is None:
            numbers = {"pos": body.centre, "quat": body.principal_axes.quat_wxyz, "diaginertia": body.moments}
            texts = {name: " ".join(map(repr, array.tolist())) for name, array in numbers.items()}
            element.insert(0, Element("inertial", texts | {"mass": repr(body.mass)}))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"
