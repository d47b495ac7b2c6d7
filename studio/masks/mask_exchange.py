"""Export of a project's masks as a file, and import of such a file as one decision."""

import base64
import binascii
from typing import Any

from pipeline.segmentation import SegmentationError, encode_rle
from pipeline.segmentation.exchange import MaskFormat, read_masks_confined, write_masks
from pipeline.segmentation.segment import NamedMask
from studio.records.images import jpeg
from studio.sessions.session import Session

MAX_FILE_BYTES = 64 << 20


def export_masks(session: Session, form: MaskFormat, names: dict[int, str]) -> dict[str, Any]:
    """Return {name, data} of a file of the current masks, data in base64; `names` are the objects' by segment id."""
    project = session.project
    masks = [NamedMask(segment.id, names.get(segment.id, ""), segment.mask) for segment in project.segments() or ()]
    image_url = ""
    if form == "label-studio":
        image_url = "data:image/jpeg;base64," + base64.b64encode(jpeg(project.frame.rgb)).decode()
    name, data = write_masks(form, masks, project.frame.depth.shape, image_url=image_url)
    return {"name": f"{project.folder.name}_{name}", "data": base64.b64encode(data).decode()}


def import_masks(session: Session, text: str) -> str:
    """Replace all masks by those of a file, given in base64; return a message. Raises SegmentationError."""
    if len(text) > MAX_FILE_BYTES * 4 // 3:
        raise SegmentationError("The file is larger than 64 MB; that is not a frame's masks.")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise SegmentationError("The file arrived incomplete; choose it again.") from None
    project = session.project
    masks = read_masks_confined(data, project.frame.depth.shape)
    before = {segment.id for segment in project.segments() or ()}
    decisions: list[tuple[str, dict[str, Any]]] = [
        ("delete_segment", {"id": id}) for id in sorted(before - {mask.id for mask in masks})
    ]
    for mask in masks:
        decisions.append(("mask", {"id": mask.id, "mask": encode_rle(mask.mask), "clicks": []}))
        if mask.name not in ("", "object"):
            decisions.append(("rename", {"id": mask.id, "name": mask.name}))
    message = f"{len(masks)} masks imported, which replace {len(before)}"
    session.decisions.record_all(decisions, message)
    return f"{message}. Undo restores the former ones."
