"""RGB-D frames: readers of all formats, and the support (table) found in a frame."""

from pipeline.frame.depth_alignment import register_depth
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Doubt, Frame, FrameError, FurtherView, Intrinsics
from pipeline.frame.load import load, load_files, open_recording
from pipeline.frame.plain_format import save
from pipeline.frame.registration import doubt_registration, measure_agreement
from pipeline.frame.support import (
    Ground,
    Observation,
    Support,
    SupportError,
    find_support,
    likely_grounds,
    offered_grounds,
)

__all__ = [
    "Doubt",
    "Frame",
    "FrameError",
    "FurtherView",
    "Ground",
    "Intrinsics",
    "Observation",
    "Recording",
    "Support",
    "SupportError",
    "doubt_registration",
    "find_support",
    "likely_grounds",
    "load",
    "load_files",
    "measure_agreement",
    "offered_grounds",
    "open_recording",
    "register_depth",
    "save",
]
