"""Limits and the working resolution that the depth segmenter and the filter of SAM 2's masks share."""

WORKING_WIDTH = 640
"""Pixels in a row, at least, of images that are larger; depth cameras hardly resolve more."""
MAX_HEIGHT, MAX_WIDTH = 0.5, 0.6
"""Metres above and along the table; larger regions are furniture or a robot."""
