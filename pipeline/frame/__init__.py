from pipeline.frame.frame import Frame, FrameError, Intrinsics
from pipeline.frame.plain import load, load_files, save
from pipeline.frame.registration import register
from pipeline.frame.support import Support, SupportError, find_support

__all__ = [
    "Frame",
    "FrameError",
    "Intrinsics",
    "Support",
    "SupportError",
    "find_support",
    "load",
    "load_files",
    "register",
    "save",
]
