"""How good the stages are: masks against truth, and what the router is worth."""

from pipeline.evaluation.ablation import Trial, ablate, summary, write_ablation
from pipeline.evaluation.masks import (
    FOUND,
    ClickScore,
    EvaluationError,
    Labelled,
    MaskScore,
    Predict,
    all_at_once,
    click,
    iou,
    next_click,
    one_by_one,
    read_labelled,
    score_masks,
)

__all__ = [
    "FOUND",
    "ClickScore",
    "EvaluationError",
    "Labelled",
    "MaskScore",
    "Predict",
    "Trial",
    "ablate",
    "all_at_once",
    "click",
    "iou",
    "next_click",
    "one_by_one",
    "read_labelled",
    "score_masks",
    "summary",
    "write_ablation",
]
