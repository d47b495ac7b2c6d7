"""Segmenters, prompts and masks."""

import sys

from pipeline.segmentation.coco import decode_rle, encode_rle
from pipeline.segmentation.depth.segmenter import DepthSegmenter, DepthView
from pipeline.segmentation.edit import merge, split
from pipeline.segmentation.mask_files import read_segments, write_segments
from pipeline.segmentation.prompts import read_prompts
from pipeline.segmentation.sam2 import Sam2Segmenter
from pipeline.segmentation.scripted import ScriptedSegmenter
from pipeline.segmentation.segment import Prompt, Segment, SegmentationError, Segmenter, View

__all__ = [
    "DepthSegmenter",
    "DepthView",
    "Prompt",
    "Sam2Segmenter",
    "ScriptedSegmenter",
    "Segment",
    "SegmentationError",
    "Segmenter",
    "View",
    "decode_rle",
    "encode_rle",
    "merge",
    "read_prompts",
    "read_segments",
    "split",
    "write_segments",
]

# torch imports triton, whose LLVM crashes the process if Mesa's software renderer has loaded its own LLVM to render
# our images. Neither SAM 2 nor torch needs triton here.
sys.modules.setdefault("triton", None)  # type: ignore[arg-type]
