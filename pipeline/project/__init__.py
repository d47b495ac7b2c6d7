"""The project folder: one frame, an ordered log of human decisions, and what was computed from them."""

from pipeline.project.project import Project, display_names, safe_name
from pipeline.project.project_folder import is_free
from pipeline.project.stage_record import STAGE_DECISIONS, STAGES, ProjectError, Stage, StageState, project_id, renew_id

__all__ = [
    "STAGES",
    "STAGE_DECISIONS",
    "Project",
    "ProjectError",
    "Stage",
    "StageState",
    "display_names",
    "is_free",
    "project_id",
    "renew_id",
    "safe_name",
]
