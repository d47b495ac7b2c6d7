"""Poses, planes, boxes around masks and ray casting."""

from pipeline.geometry.masks import PixelBox, bounding_box
from pipeline.geometry.planes import Plane, inside_polygon
from pipeline.geometry.poses import (
    Pose,
    box_corners,
    homogeneous,
    planar_rotation,
    quat_about_z,
    rotation_about_z,
    shifted,
    transform,
)

__all__ = [
    "PixelBox",
    "Plane",
    "Pose",
    "bounding_box",
    "box_corners",
    "homogeneous",
    "inside_polygon",
    "planar_rotation",
    "quat_about_z",
    "rotation_about_z",
    "shifted",
    "transform",
]
