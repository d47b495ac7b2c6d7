"""The embedded MuJoCo viewer's server side: physics in a thread, poses over one WebSocket."""

from studio.viewing.motion import Trajectory, ViewerError
from studio.viewing.photo_camera import PhotoCamera
from studio.viewing.routes import mount
from studio.viewing.session import Mark, SimSession
from studio.viewing.sessions import Sessions

__all__ = ["Mark", "PhotoCamera", "Sessions", "SimSession", "Trajectory", "ViewerError", "mount"]
