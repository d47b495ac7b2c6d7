"""Export for Rerun: the photograph, its depth and masks, the points, the twin, and the rollouts on a timeline.

A viewer opens it with `rerun NAME.rrd`. https://rerun.io/docs
"""

from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from pipeline.export.export_format import ExportFormat, describes, require_scene
from pipeline.export.formats.glb import shape_mesh
from pipeline.export.recorded_scene import RecordedRollout, about, known_points, mask_names, recorded_rollouts
from pipeline.export.twin_model import TwinModel
from pipeline.project import Project
from pipeline.store import atomic_write

if TYPE_CHECKING:
    import rerun

TIMELINE, CAMERA = "seconds", "photograph/camera"


@describes(
    ExportFormat(
        "Rerun", "photograph, depth, masks, points, twin and rollouts on a timeline, for Rerun's viewer",
        "joints, collision pieces, masses", ".rrd", extra="rerun", module="rerun",
    )
)  # fmt: skip
def export_rrd(project_dir: Path, out: Path) -> None:
    """Write a recording in the world frame, z up, in metres and seconds. Raises ExportError."""
    import rerun

    require_scene(project_dir)
    project = Project.open(project_dir)
    with atomic_write(out) as temporary:
        recording = rerun.RecordingStream("grs-studio", recording_id=project.frame_key)
        recording.save(temporary, default_blueprint=_blueprint())
        recording.log("/", rerun.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        recording.log("about", rerun.TextDocument(about(project), media_type="text/markdown"), static=True)
        _log_frame(recording, project)
        _log_bodies(recording, "twin", TwinModel(project_dir / "scene" / "scene.xml"))
        for shown in recorded_rollouts(project):
            _log_rollout(recording, shown)
        recording.flush()
        recording.disconnect()


def _blueprint() -> Any:
    from rerun import blueprint

    return blueprint.Blueprint(
        blueprint.Horizontal(
            blueprint.Tabs(
                blueprint.Spatial3DView(origin="/", contents=[CAMERA, "photograph/points", "twin/**"], name="Twin"),
                blueprint.Spatial3DView(origin="/", contents=["solution/**"], name="Solution"),
                blueprint.Spatial3DView(origin="/", contents=["failure/**"], name="First failure"),
                blueprint.Spatial3DView(origin="/", contents=["track/**"], name="Recording"),
            ),
            blueprint.Vertical(
                blueprint.Spatial2DView(
                    origin=CAMERA, contents=[f"{CAMERA}/colour", f"{CAMERA}/masks"], name="Photograph"
                ),
                blueprint.Spatial2DView(origin=CAMERA, contents=[f"{CAMERA}/depth"], name="Depth"),
                blueprint.TextDocumentView(origin="about", name="About"),
            ),
            column_shares=[2, 1],
        )
    )


def _log_frame(recording: "rerun.RecordingStream", project: Project) -> None:
    """Log picture, depth and masks below a camera, and the points of known depth."""
    import rerun

    frame, world_from_camera = project.frame, project.support.world_from_camera
    segments, names = project.segments() or (), mask_names(project)
    labels = np.zeros(frame.depth.shape, np.uint16)
    for segment in segments:
        labels[segment.mask] = segment.id
    classes = list(names.items())
    k = frame.intrinsics
    recording.log("photograph", rerun.AnnotationContext([(0, "nothing", (0, 0, 0, 0)), *classes]), static=True)
    pose = rerun.Transform3D(translation=world_from_camera[:3, 3], mat3x3=world_from_camera[:3, :3])
    recording.log(CAMERA, pose, static=True)
    pinhole = rerun.Pinhole(image_from_camera=k.matrix, resolution=(k.width, k.height))
    recording.log(CAMERA, pinhole, rerun.ViewCoordinates.RDF, static=True)
    recording.log(f"{CAMERA}/colour", rerun.Image(frame.rgb).compress(jpeg_quality=95), static=True)
    recording.log(f"{CAMERA}/depth", rerun.DepthImage(frame.depth, meter=1.0), static=True)
    recording.log(f"{CAMERA}/masks", rerun.SegmentationImage(labels, opacity=0.5), static=True)
    points, colors = known_points(project)
    recording.log("photograph/points", rerun.Points3D(points, colors=colors, radii=0.001), static=True)


def _log_bodies(recording: "rerun.RecordingStream", root: str, twin: TwinModel, moving: Container[int] = ()) -> None:
    """Log the visible shapes of a model below its bodies, and the poses of bodies that don't move (numbers)."""
    import rerun

    data = mujoco.MjData(twin.model)
    mujoco.mj_forward(twin.model, data)
    for number, body in enumerate(twin.bodies):
        path = f"{root}/{rerun.escape_entity_path_part(body.name)}"
        if number not in moving:  # what is static hides what changes
            recording.log(path, _pose(data.xpos[number], data.xmat[number]), static=True)
        for shape in body.shapes:
            if shape.is_visible and shape.kind != "plane":
                mesh = shape_mesh(twin, shape)
                uv = np.asarray(getattr(mesh.visual, "uv", None))
                pose, image = shape.body_from_shape, twin.texture(shape.material)
                below = f"{path}/{rerun.escape_entity_path_part(shape.name)}"
                recording.log(below, _pose(pose.pos, pose.rotation), static=True)
                recording.log(
                    below,
                    rerun.Mesh3D(
                        vertex_positions=mesh.vertices,
                        triangle_indices=mesh.faces,
                        vertex_normals=mesh.vertex_normals,
                        albedo_factor=shape.rgba,
                        albedo_texture=None if image is None else np.asarray(image),
                        vertex_texcoords=None if image is None else uv * [1, -1] + [0, 1],
                    ),
                    static=True,
                )


def _log_rollout(recording: "rerun.RecordingStream", shown: RecordedRollout) -> None:
    """Log the shapes of a rollout's model, and the poses of what moves over its time."""
    import rerun

    _log_bodies(recording, shown.name, shown.twin, shown.moving)
    for number in shown.moving:
        path = f"{shown.name}/{rerun.escape_entity_path_part(shown.twin.bodies[number].name)}"
        recording.send_columns(
            path,
            indexes=[rerun.TimeColumn(TIMELINE, duration=shown.times)],
            columns=rerun.Transform3D.columns(
                translation=shown.positions[:, number], mat3x3=shown.rotations[:, number].reshape(-1, 3, 3)
            ),
        )


def _pose(pos: np.ndarray, rotation: np.ndarray) -> Any:
    import rerun

    return rerun.Transform3D(translation=pos, mat3x3=np.reshape(rotation, (3, 3)))
