from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError, Intrinsics
from pipeline.frame.load import frames, load
from pipeline.frame.plain import load_files, save
from pipeline.frame.registration import register
from pipeline.frame.support import Support, SupportError, find_support

__all__ = [
    "Frame",
    "FrameError",
    "Intrinsics",
    "Recording",
    "Support",
    "SupportError",
    "find_support",
    "frames",
    "load",
    "load_files",
    "register",
    "save",
]
