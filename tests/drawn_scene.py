"""Small scenes of primitives, and a camera without noise that photographs them without OpenGL."""

from pathlib import Path

import numpy as np
import trimesh
from scipy.spatial.transform import Rotation

from pipeline.assets import Library
from pipeline.description import Attributes, Description
from pipeline.frame import Frame, Intrinsics, Observation, Support
from pipeline.geometry import Plane, Pose
from pipeline.matching import Match
from pipeline.scene import Placement, Scene, fidelity
from pipeline.scene.mjcf import builder
from pipeline.scene.place_objects import SceneInputs
from pipeline.segmentation import Segment

CAMERA = Intrinsics(320, 240, 300.0, 303.0, 170.0, 112.0)
TABLE = np.array([[-0.5, -0.4], [0.5, -0.4], [0.5, 0.4], [-0.5, 0.4]])


def shape(folder: Path, name: str, mesh: trimesh.Trimesh) -> Path:
    mesh.export(folder / f"{name}.obj")
    return folder / f"{name}.obj"


def box(folder: Path, size=(0.06, 0.04, 0.08)) -> Path:
    return shape(folder, "box_" + "_".join(f"{s:.3f}" for s in size), trimesh.creation.box(size))


def can(folder: Path, radius=0.03, height=0.1) -> Path:
    return shape(folder, "can", trimesh.creation.cylinder(radius, height, sections=64))


def ball(folder: Path, radius=0.03) -> Path:
    return shape(folder, "ball", trimesh.creation.icosphere(3, radius))


def placement(mesh: Path, name="object", at=(0.0, 0.0), bottom=0.0, yaw=0.0, size=None, number=1, **more) -> Placement:
    """Return a placement at x, y with its lowest point at `bottom`; `more` are further fields of a Placement."""
    size = np.array(trimesh.load(mesh, force="mesh").extents if size is None else size, float)
    quat = Rotation.from_euler("z", yaw).as_quat(scalar_first=True)
    pose = Pose(np.array([*at, bottom + size[2] / 2]), quat)
    fields = {"asset_id": None, "scale": 1.0, "collision": (), "mass": 0.2, "friction": 0.6} | more
    return Placement(name=name, segment_id=number, size=size, world_from_object=pose, mesh=mesh, **fields)


def scene(*placements: Placement) -> Scene:
    return Scene(camera_pose(), TABLE, (150, 120, 90), placements, CAMERA)


def camera_pose(eye=(0.1, -0.6, 0.5), at=(0.0, 0.0, 0.03)) -> np.ndarray:
    ahead = np.subtract(at, eye) / np.linalg.norm(np.subtract(at, eye))
    right = np.cross(ahead, [0, 0, 1]) / np.linalg.norm(np.cross(ahead, [0, 0, 1]))
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = np.stack([right, np.cross(ahead, right), ahead], 1), eye
    return pose


def photograph(scene: Scene) -> tuple[Frame, Support, tuple[Segment, ...]]:
    """Return a noiseless frame of a scene, its true support and its true masks."""
    model = builder.compile_spec(builder.build_spec(scene))
    labels, depth = fidelity.raycast_image(model, CAMERA, scene.world_from_camera)
    rgb = np.full((*depth.shape, 3), 120, np.uint8)
    for p in scene.placements:
        rgb[labels == model.body(p.name).id] = p.rgb
    segments = tuple(Segment(p.segment_id, labels == model.body(p.name).id) for p in scene.placements)
    world_from_camera = np.asarray(scene.world_from_camera)
    plane = Plane(world_from_camera[2, :3], float(world_from_camera[2, 3]))
    frame = Frame(rgb, depth, CAMERA, scene.world_from_camera)
    return frame, Support(scene.world_from_camera, plane, TABLE, labels == 0), segments


def exact_description(p: Placement, shape="box") -> Description:
    """Return the description of a placement that exact measurements would give."""
    yaw = 2 * np.arctan2(p.world_from_object.quat_wxyz[3], p.world_from_object.quat_wxyz[0])
    attributes = Attributes("red", (200, 30, 30), shape, p.size, float(yaw), p.world_from_object.pos, 0.001)
    return Description(p.segment_id, True, p.name, "", attributes)


def inputs(scene: Scene, library: Library, folder: Path, known=True, overrides=None, shape="box") -> SceneInputs:
    """Return what a photograph of a scene gives; the objects match their assets if they are `known`."""
    observation, segments = observe(scene)
    descriptions = [exact_description(p, shape) for p in scene.placements]
    matches = [Match(p.segment_id, p.asset_id if known else None, 1.0, "", ()) for p in scene.placements]
    return SceneInputs(observation, segments, descriptions, matches, library, folder, overrides or {})


def position_errors(a: Scene, b: Scene) -> list[float]:
    """Return the metres between the objects of two scenes."""
    pairs = zip(a.placements, b.placements, strict=True)
    return [float(np.linalg.norm(p.world_from_object.pos - q.world_from_object.pos)) for p, q in pairs]


def observe(scene: Scene) -> tuple[Observation, tuple[Segment, ...]]:
    frame, support, segments = photograph(scene)
    return Observation(frame, support), segments
