"""SAM 2 behind the Segmenter protocol. Imports torch only once a frame is opened, and never touches the network
unless `fetch` is called. docs/sam2.md tells how to get weights."""

from pipeline.segmentation.sam2.cleaning import cleaned
from pipeline.segmentation.sam2.everything import Everything
from pipeline.segmentation.sam2.segmenter import Sam2Segmenter, Sam2View
from pipeline.segmentation.sam2.state import State
from pipeline.segmentation.sam2.weights import HUB, available, fetch

__all__ = ["HUB", "Everything", "Sam2Segmenter", "Sam2View", "State", "available", "cleaned", "fetch"]
