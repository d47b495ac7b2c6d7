"""Scores of the stages: matches against labels, and the ablation of the router."""

from pipeline.evaluation.ablation import AblationOptions, AblationScene, AblationTrial, JudgedProposal, ablate
from pipeline.evaluation.ablation_report import summary, write_ablation
from pipeline.evaluation.match_scores import EvaluationError

__all__ = [
    "AblationOptions",
    "AblationScene",
    "AblationTrial",
    "EvaluationError",
    "JudgedProposal",
    "ablate",
    "summary",
    "write_ablation",
]
