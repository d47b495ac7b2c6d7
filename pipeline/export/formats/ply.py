"""Export of the measured points as a binary PLY: world coordinates, colours, and the segment of each point."""

from pathlib import Path

import numpy as np

from pipeline.export.export_format import ExportError, ExportFormat, describes
from pipeline.geometry import transform
from pipeline.project import Project
from pipeline.store import write_bytes

VERTEX = np.dtype([
    ("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("red", "u1"), ("green", "u1"), ("blue", "u1"), ("segment", "<i4"),
])  # fmt: skip
_TYPES = {"<f4": "float", "|u1": "uchar", "<i4": "int"}


@describes(
    ExportFormat(
        "PLY (points)",
        "the photograph's points in the world frame, with colours and the segment of each point",
        "the twin itself: meshes, joints and masses",
        ".ply",
    )
)
def export_ply(project_dir: Path, out: Path) -> None:
    """Write every pixel of known depth as a point in the world frame, z up, in metres. Raises ExportError."""
    write_bytes(out, ply(Project.open(project_dir)))


def ply(project: Project) -> bytes:
    """Return the points of a project's frame as a PLY file. Raises ExportError if no depth is known.

    Each point has the id of its segment, 0 for none; comments in the header name them: "segment 3 red_mug".
    """
    frame = project.frame
    rows, columns = np.nonzero(frame.depth > 0)
    if not len(rows):
        raise ExportError(f"{project.name} has no pixel of known depth, so there are no points to export")
    labels = np.zeros(frame.depth.shape, np.uint16)
    segments = project.segments() or ()
    for segment in segments:
        labels[segment.mask] = segment.id
    depth, k = frame.depth[rows, columns].astype(float), frame.intrinsics
    camera = np.stack([(columns - k.cx) / k.fx * depth, (rows - k.cy) / k.fy * depth, depth], -1)
    points = transform(project.support.world_from_camera, camera)
    vertices = np.zeros(len(rows), VERTEX)
    for axis, values in zip(("x", "y", "z"), points.T, strict=True):
        vertices[axis] = values
    for channel, values in zip(("red", "green", "blue"), frame.rgb[rows, columns].T, strict=True):
        vertices[channel] = values
    vertices["segment"] = labels[rows, columns]
    return _header(project, len(vertices)) + vertices.tobytes()


def _header(project: Project, count: int) -> bytes:
    scene = project.scene()
    names = {p.segment_id: p.name for p in scene.placements} if scene else {}
    lines = ["ply", "format binary_little_endian 1.0", "comment world frame: z up, table top at z = 0, metres"]
    lines += [f"comment segment {s.id} {names.get(s.id, 'unnamed')}" for s in project.segments() or ()]
    lines += [f"element vertex {count}"]
    lines += [f"property {_TYPES[VERTEX[name].str]} {name}" for name in VERTEX.names or ()]
    return ("\n".join([*lines, "end_header"]) + "\n").encode()
