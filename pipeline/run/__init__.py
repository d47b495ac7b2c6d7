"""The stages of the method: frame -> segments -> descriptions -> matches -> scene -> task -> rounds -> solution.

Each stage is a generator of Progress: the app streams it, a script prints it, closing it stops the stage. Results that
were complete before a stop or an error are in the project folder.
"""

from pipeline.run.perception_stages import find_segments
from pipeline.run.progress import Progress
from pipeline.run.services import (
    WHAT_IS_SENT,
    Services,
    allowed_services,
    may_send,
    producer_name,
    project_matcher,
    project_robot,
    tracing_model,
)
from pipeline.run.stages import is_current, is_made_with_others, run_stage, run_stages

__all__ = [
    "WHAT_IS_SENT",
    "Progress",
    "Services",
    "allowed_services",
    "find_segments",
    "is_current",
    "is_made_with_others",
    "may_send",
    "producer_name",
    "project_matcher",
    "project_robot",
    "run_stage",
    "run_stages",
    "tracing_model",
]
