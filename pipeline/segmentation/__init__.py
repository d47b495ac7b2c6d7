import sys

from pipeline.segmentation.depth import DepthSegmenter, DepthView
from pipeline.segmentation.edit import merge, split
from pipeline.segmentation.files import read_prompts, read_segments, rle, unrle, write_segments
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
    "merge",
    "read_prompts",
    "read_segments",
    "rle",
    "split",
    "unrle",
    "write_segments",
]

# torch loads triton, and triton's LLVM crashes the process beside the LLVM of Mesa's software renderer, which draws
# our pictures. SAM 2 does without triton; torch copes when it is not there.
sys.modules.setdefault("triton", None)  # type: ignore[arg-type]
