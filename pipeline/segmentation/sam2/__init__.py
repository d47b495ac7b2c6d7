"""SAM 2 as a Segmenter. torch is imported when a frame is opened; nothing is downloaded."""

from pipeline.segmentation.sam2.automatic_masks import AutomaticSettings
from pipeline.segmentation.sam2.device_queue import EncodingState
from pipeline.segmentation.sam2.mask_filter import clean_masks
from pipeline.segmentation.sam2.segmenter import Sam2Segmenter, Sam2View
from pipeline.segmentation.sam2.weights import HUB_FILES, weights_state

__all__ = [
    "HUB_FILES",
    "AutomaticSettings",
    "EncodingState",
    "Sam2Segmenter",
    "Sam2View",
    "clean_masks",
    "weights_state",
]
