"""Reports as one HTML file each, made of blocks, that opens from disk without a network."""

from pipeline.report.blocks import Diff, Facts, Folded, Heading, Picture, Pictures, Plot, Section, Table, Text, Video
from pipeline.report.page import jpeg, report_page

__all__ = [
    "Diff",
    "Facts",
    "Folded",
    "Heading",
    "Picture",
    "Pictures",
    "Plot",
    "Section",
    "Table",
    "Text",
    "Video",
    "jpeg",
    "report_page",
]
