"""A frame together with the support that was found in it."""

from dataclasses import dataclass

from pipeline.frame.frame import Frame
from pipeline.frame.support import Support


@dataclass(frozen=True, eq=False)
class Observation:
    """What the camera measured: the frame and the support in it."""

    frame: Frame
    support: Support
