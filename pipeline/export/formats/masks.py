"""Exports of the masks for annotation tools: COCO, and a task of Label Studio with the photograph in it."""

import base64
import io
from pathlib import Path

from PIL import Image

from pipeline.export.export_format import ExportError, ExportFormat, describes
from pipeline.project import Project
from pipeline.segmentation.exchange import MaskFormat, write_masks
from pipeline.segmentation.segment import NamedMask
from pipeline.store import write_bytes

LACKS = "the twin, its poses and assets"


@describes(ExportFormat("COCO (masks)", "the masks as COCO instances with the objects' names", LACKS, ".json"))
def export_coco(project_dir: Path, out: Path) -> None:
    """Write the masks as one JSON file of COCO; the image is called rgb.png. Raises ExportError."""
    _write(project_dir, "coco", out)


@describes(
    ExportFormat("Label Studio (masks)", "a task with the photograph and the masks, and its labels", LACKS, ".zip")
)
def export_label_studio(project_dir: Path, out: Path) -> None:
    """Write a zip of tasks.json and labeling_config.xml. Raises ExportError."""
    _write(project_dir, "label-studio", out)


def _write(project_dir: Path, form: MaskFormat, out: Path) -> None:
    project = Project.open(project_dir)
    segments = project.segments()
    if not segments:
        raise ExportError(f"{project.name} has no masks yet; run it until the stage masks")
    names = {one.segment_id: one.name for one in project.descriptions() or ()} | project.display_names()
    masks = [NamedMask(one.id, names.get(one.id, ""), one.mask) for one in segments]
    picture = io.BytesIO()
    Image.fromarray(project.frame.rgb).save(picture, "JPEG", quality=90)
    image_url = "data:image/jpeg;base64," + base64.b64encode(picture.getvalue()).decode()
    write_bytes(out, write_masks(form, masks, project.frame.depth.shape, image_url=image_url)[1])
