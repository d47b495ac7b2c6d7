from pipeline.segmentation.segment import Prompt, Segment, SegmentationError, Segmenter, View

__all__ = ["Prompt", "Segment", "SegmentationError", "Segmenter", "View"]
