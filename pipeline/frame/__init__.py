from pipeline.frame.frame import Frame, FrameError, Intrinsics

__all__ = ["Frame", "FrameError", "Intrinsics"]
