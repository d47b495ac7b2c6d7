"""The method, stage by stage: frame -> segments -> descriptions -> matches -> scene -> task -> rounds -> solution.

Each stage is a generator of Progress: the app streams it, a script prints it, a stop button closes it. What was
finished before a stop or an error is in the project folder.
"""

from pipeline.run.progress import Progress
from pipeline.run.seeing import find_segments
from pipeline.run.services import Services, maker, matcher_of, robot_of
from pipeline.run.stages import advance, run_stage

__all__ = [
    "Progress",
    "Services",
    "advance",
    "find_segments",
    "maker",
    "matcher_of",
    "robot_of",
    "run_stage",
]
