"""RGB-D frames: readers of all formats, and the support (table) found in a frame."""

from pipeline.frame.depth_alignment import register_depth
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError, Intrinsics
from pipeline.frame.load import load, load_files, open_recording
from pipeline.frame.observation import Observation
from pipeline.frame.plain_format import save
from pipeline.frame.support import Support, SupportError, find_support

__all__ = [
    "Frame",
    "FrameError",
    "Intrinsics",
    "Observation",
    "Recording",
    "Support",
    "SupportError",
    "find_support",
    "load",
    "load_files",
    "open_recording",
    "register_depth",
    "save",
]
