"""Frames as they come: one small reader per format, each `open_*(...) -> Recording`, or None where it is not its."""
