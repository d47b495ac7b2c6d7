"""Where the real camera and the real robot stand in the twin's world: from clicks, files and the depth image."""

from pipeline.alignment.camera import AlignmentError, AlignmentStopped, CameraAlignment, CameraClicks, align_camera
from pipeline.alignment.depth import refine_on_depth, shares_world, surface_labels
from pipeline.alignment.input_files import read_clicks, read_robot_base
from pipeline.alignment.on_twin import TwinSurface, align_on_twin, draw_overlay, overlay_picture
from pipeline.alignment.robot import RobotAlignment, ToolClick, align_robot

__all__ = [
    "AlignmentError",
    "AlignmentStopped",
    "CameraAlignment",
    "CameraClicks",
    "RobotAlignment",
    "ToolClick",
    "TwinSurface",
    "align_camera",
    "align_on_twin",
    "align_robot",
    "draw_overlay",
    "overlay_picture",
    "read_clicks",
    "read_robot_base",
    "refine_on_depth",
    "shares_world",
    "surface_labels",
]
