"""Export for Foxglove: the photograph, its depth and masks, the points, the twin, and the rollouts over their time.

A log in the format MCAP with Foxglove's own schemas, which its viewer and Lichtblick open. https://docs.foxglove.dev
Each body has a frame of its own, "twin/NAME", "solution/NAME" or "failure/NAME" below "world". Models are glTF with y
up, as its standard has them; the viewers turn them.
"""

import colorsys
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import mujoco
import numpy as np
from PIL import Image
from scipy.spatial.transform import Rotation

from pipeline.export.export_format import ExportFormat, describes, require_scene
from pipeline.export.formats.glb import body_glb
from pipeline.export.recorded_scene import about, known_points, mask_names, recorded_rollouts
from pipeline.export.twin_model import TwinModel
from pipeline.project import Project
from pipeline.store import atomic_write

if TYPE_CHECKING:
    import foxglove

WORLD, CAMERA = "world", "camera"
CHANNELS = ("red", "green", "blue", "alpha")


@describes(
    ExportFormat(
        "Foxglove (MCAP)", "photograph, depth, masks, points, twin and rollouts over their time, for Foxglove's viewer",
        "joints, collision pieces, masses", ".mcap", extra="foxglove", module="foxglove",
    )
)  # fmt: skip
def export_mcap(project_dir: Path, out: Path) -> None:
    """Write a log in the world frame, z up, in metres and seconds from 0. Raises ExportError."""
    import foxglove

    require_scene(project_dir)
    project, log, context = Project.open(project_dir), _Log(), foxglove.Context()
    _log_frame(log, project)
    twin = TwinModel(project_dir / "scene" / "scene.xml")
    data = mujoco.MjData(twin.model)
    mujoco.mj_forward(twin.model, data)
    names = _log_bodies(log, "twin", twin)
    log.add_frames("/twin/frames", names, data.xpos, data.xmat)
    for shown in recorded_rollouts(project):
        names = _log_bodies(log, shown.name, shown.twin)
        for seconds, positions, rotations in zip(shown.times.tolist(), shown.positions, shown.rotations, strict=True):
            log.add_frames(f"/{shown.name}/frames", names, positions, rotations, seconds)
    with atomic_write(out) as file, foxglove.open_mcap(file, allow_overwrite=True, context=context) as writer:
        writer.write_metadata("grs-studio", {"project": project.name, "about": about(project)})
        log.write(context)


class _Log:
    """The messages of one log, which are written by time."""

    def __init__(self) -> None:
        self._messages: list[tuple[float, str, Any]] = []

    def add(self, topic: str, message: Any, seconds: float = 0.0) -> None:
        """Keep a message of Foxglove for its topic."""
        self._messages.append((seconds, topic, message))

    def add_frames(
        self, topic: str, names: list[str], positions: np.ndarray, rotations: np.ndarray, seconds: float = 0.0
    ) -> None:
        """Keep where frames are in the world: positions (N, 3), and rotation matrices row by row (N, 9).

        Each message has all frames of its topic: a viewer that jumps in time reads the last one alone.
        """
        from foxglove.messages import FrameTransform, FrameTransforms, Quaternion, Vector3

        quaternions = Rotation.from_matrix(rotations.reshape(-1, 3, 3)).as_quat()
        transforms = [
            FrameTransform(
                timestamp=_stamp(seconds),
                parent_frame_id=WORLD,
                child_frame_id=name,
                translation=Vector3(**dict(zip("xyz", position, strict=True))),
                rotation=Quaternion(**dict(zip("xyzw", quaternion, strict=True))),
            )
            for name, position, quaternion in zip(names, positions.tolist(), quaternions.tolist(), strict=True)
        ]
        self.add(topic, FrameTransforms(transforms=transforms), seconds)

    def write(self, context: "foxglove.Context") -> None:
        """Log all messages, each on the channel of its own kind."""
        from foxglove import channels

        found: dict[str, Any] = {}
        for seconds, topic, message in sorted(self._messages, key=lambda one: one[0]):
            if topic not in found:
                found[topic] = getattr(channels, f"{type(message).__name__}Channel")(topic, context=context)
            found[topic].log(message, log_time=_nanoseconds(seconds))


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)


def _stamp(seconds: float = 0.0) -> Any:
    from foxglove.messages import Timestamp

    return Timestamp(*divmod(_nanoseconds(seconds), 1_000_000_000))


def _log_frame(log: _Log, project: Project) -> None:
    """Log camera, picture, depth and masks, and the points of known depth."""
    from foxglove.messages import CameraCalibration, CompressedImage, RawImage

    frame, world_from_camera = project.frame, project.support.world_from_camera
    k, at = frame.intrinsics, {"timestamp": _stamp(), "frame_id": CAMERA}
    log.add_frames("/photograph/frames", [CAMERA], world_from_camera[None, :3, 3], world_from_camera[None, :3, :3])
    projection = np.hstack([k.matrix, np.zeros((3, 1))])
    log.add(
        "/photograph/calibration",
        CameraCalibration(
            width=k.width, height=k.height, K=k.matrix.ravel().tolist(), R=np.eye(3).ravel().tolist(),
            P=projection.ravel().tolist(), **at,
        ),
    )  # fmt: skip
    picture = io.BytesIO()
    Image.fromarray(frame.rgb).save(picture, "JPEG", quality=95)
    log.add("/photograph/colour", CompressedImage(data=picture.getvalue(), format="jpeg", **at))
    depth = frame.depth.astype("<f4")
    log.add(
        "/photograph/depth",
        RawImage(width=k.width, height=k.height, encoding="32FC1", step=4 * k.width, data=depth.tobytes(), **at),
    )
    log.add("/photograph/masks", _outlines(project))
    log.add("/photograph/points", _cloud(*known_points(project)))


def _outlines(project: Project) -> Any:
    """Return the outlines of the masks in the photograph, with the objects' names."""
    from foxglove.messages import (
        Color,
        ImageAnnotations,
        Point2,
        PointsAnnotation,
        PointsAnnotationType,
        TextAnnotation,
    )

    names, points, texts = mask_names(project), [], []
    for number, segment in enumerate(project.segments() or ()):
        red, green, blue = colorsys.hsv_to_rgb(number * 0.618 % 1.0, 0.8, 1.0)
        colour = Color(r=red, g=green, b=blue, a=1.0)
        found, _ = cv2.findContours(segment.mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        for contour in found:
            corners = [Point2(x=float(x), y=float(y)) for x, y in contour[:, 0]]
            loop = PointsAnnotationType.LineLoop
            points.append(PointsAnnotation(type=loop, points=corners, outline_color=colour, thickness=2.0))
        rows, columns = np.nonzero(segment.mask)
        if len(rows):
            middle = Point2(x=float(columns.mean()), y=float(rows.mean()))
            text = names[segment.id]
            texts.append(TextAnnotation(position=middle, text=text, font_size=12.0, text_color=colour))
    return ImageAnnotations(timestamp=_stamp(), points=points, texts=texts)


def _cloud(points: np.ndarray, colours: np.ndarray) -> Any:
    from foxglove.messages import PackedElementField, PackedElementFieldNumericType, PointCloud, Pose, Quaternion

    rows = np.empty((len(points), 4), "<f4")
    rows[:, :3] = points
    rows[:, 3] = np.hstack([colours, np.full((len(points), 1), 255, np.uint8)]).view("<f4")[:, 0]
    float32, uint8 = PackedElementFieldNumericType.Float32, PackedElementFieldNumericType.Uint8
    fields = [PackedElementField(name=axis, offset=4 * number, type=float32) for number, axis in enumerate("xyz")]
    fields += [PackedElementField(name=name, offset=12 + number, type=uint8) for number, name in enumerate(CHANNELS)]
    here = Pose(orientation=Quaternion(w=1.0))
    return PointCloud(
        timestamp=_stamp(), frame_id=WORLD, pose=here, point_stride=16, fields=fields, data=rows.tobytes()
    )


def _log_bodies(log: _Log, root: str, twin: TwinModel) -> list[str]:
    """Log the look of a model's bodies, each in its own frame; return the names of the frames."""
    from foxglove.messages import ModelPrimitive, Pose, Quaternion, SceneEntity, SceneUpdate, Vector3

    here, size, entities = Pose(orientation=Quaternion(w=1.0)), Vector3(x=1.0, y=1.0, z=1.0), []
    names = [f"{root}/{body.name}" for body in twin.bodies]
    for name, body in zip(names, twin.bodies, strict=True):
        if data := body_glb(twin, body):
            model = ModelPrimitive(pose=here, scale=size, media_type="model/gltf-binary", data=data)
            entities.append(SceneEntity(timestamp=_stamp(), frame_id=name, id=name, frame_locked=True, models=[model]))
    log.add(f"/{root}/bodies", SceneUpdate(entities=entities))
    return names
