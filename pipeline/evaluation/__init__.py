"""Scores of the stages: masks and matches against labels, and the ablation of the router."""

from pipeline.evaluation.ablation import AblationOptions, AblationScene, AblationTrial, JudgedProposal, ablate
from pipeline.evaluation.ablation_report import summary, write_ablation
from pipeline.evaluation.mask_scores import (
    FOUND_IOU,
    ClickScore,
    EvaluationError,
    LabelledFrame,
    MaskPredictor,
    MaskScore,
    iou,
    next_click,
    predict_from_all_clicks,
    predict_from_last_click,
    read_labelled,
    score_masks,
    simulate_clicks,
)

__all__ = [
    "FOUND_IOU",
    "AblationOptions",
    "AblationScene",
    "AblationTrial",
    "ClickScore",
    "EvaluationError",
    "JudgedProposal",
    "LabelledFrame",
    "MaskPredictor",
    "MaskScore",
    "ablate",
    "iou",
    "next_click",
    "predict_from_all_clicks",
    "predict_from_last_click",
    "read_labelled",
    "score_masks",
    "simulate_clicks",
    "summary",
    "write_ablation",
]
