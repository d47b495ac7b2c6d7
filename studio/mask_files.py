"""Masks of a project as files to take away, and files of masks taken in as one decision."""

import base64
import binascii
from typing import Any

from pipeline.segmentation import SegmentationError, rle
from pipeline.segmentation.exchange import Form, Named, read, write
from studio.pictures import jpeg
from studio.session import Session

LARGEST = 64 << 20
"""Bytes of a file that is taken in."""


def exported(session: Session, form: Form, names: dict[int, str]) -> dict[str, Any]:
    """{"name", "data" as base64} of the masks as they are now."""
    project = session.project
    objects = [Named(one.id, names.get(one.id, ""), one.mask) for one in project.segments() or ()]
    picture = ""
    if form == "label-studio":
        picture = "data:image/jpeg;base64," + base64.b64encode(jpeg(project.frame.rgb)).decode()
    name, data = write(form, objects, project.frame.depth.shape, picture=picture)
    return {"name": f"{project.folder.name}_{name}", "data": base64.b64encode(data).decode()}


def imported(session: Session, text: str) -> str:
    """Replaces all masks by those of a file, base64 and says so. Raises SegmentationError."""
    if len(text) > LARGEST * 4 // 3:
        raise SegmentationError("The file is larger than 64 MB; that is not a frame's masks.")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise SegmentationError("The file did not arrive whole; choose it again.") from None
    project = session.project
    found = read(data, project.frame.depth.shape)
    before = {one.id for one in project.segments() or ()}
    decisions: list[tuple[str, dict[str, Any]]] = [
        ("delete_segment", {"id": id}) for id in sorted(before - {one.id for one in found})
    ]
    for one in found:
        decisions.append(("mask", {"id": one.id, "mask": rle(one.mask), "clicks": []}))
        if one.name not in ("", "object"):
            decisions.append(("rename", {"id": one.id, "name": one.name}))
    said = f"{len(found)} masks taken from a file in the place of {len(before)}"
    session.decide_all(decisions, said)
    return f"{said}. Undo brings the old ones back."
