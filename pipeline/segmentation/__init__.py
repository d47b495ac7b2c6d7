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
