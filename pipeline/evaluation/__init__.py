"""Scores of the stages: masks and matches against labels, and the ablation of the router."""

from pipeline.evaluation.ablation import AblationTrial, ablate, summary, write_ablation
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
    "AblationTrial",
    "ClickScore",
    "EvaluationError",
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
