from pipeline.segmentation.depth import DepthSegmenter, DepthView
from pipeline.segmentation.segment import Prompt, Segment, SegmentationError, Segmenter, View

__all__ = ["DepthSegmenter", "DepthView", "Prompt", "Segment", "SegmentationError", "Segmenter", "View"]
