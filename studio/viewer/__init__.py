"""The server side of the embedded MuJoCo viewer: physics in a thread, poses over one WebSocket."""

from studio.viewer.motion import Trajectory, ViewerError
from studio.viewer.photo_camera import PhotoCamera, Photograph
from studio.viewer.presentation import Mark, Presentation
from studio.viewer.routes import mount
from studio.viewer.view_registry import ViewRegistry
from studio.viewer.view_session import ViewSession

__all__ = [
    "Mark",
    "PhotoCamera",
    "Photograph",
    "Presentation",
    "Trajectory",
    "ViewRegistry",
    "ViewSession",
    "ViewerError",
    "mount",
]
