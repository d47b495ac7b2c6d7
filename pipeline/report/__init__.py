"""Reports as one HTML file each, made of blocks, that opens from disk without a network."""

import base64
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader

from pipeline.report.blocks import Diff, Facts, Folded, Heading, Picture, Pictures, Plot, Section, Table, Text, Video

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

FOLDER = Path(__file__).parent
PLOT_CONFIG = {"displaylogo": False, "responsive": True, "plotlyServerURL": ""}
PLOT_LOOK = {"paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)", "font_color": "#7b8794"}
"""Readable on the light and the dark page."""


def report_page(title: str, blocks: Sequence[Any], script: str = "", footer: str = "") -> str:
    """Return the page. Plotly's 5 MB are in it if a block is a plot; without one nothing in it is executed.

    Args:
        script: JavaScript of ours, for what a click on a plot does.
    """
    plots = any(isinstance(block, Plot) for block in _all(blocks))
    values = {
        "title": title,
        "blocks": blocks,
        "footer": footer,
        "script": script,
        "plotly": _plotly() if plots else "",
    }
    return _environment().get_template("page.html").render(values)


def jpeg(picture: np.ndarray, quality: int = 85) -> str:
    """Return a picture (H, W, 3), uint8, RGB as a data URL."""
    import cv2

    data = cv2.imencode(".jpg", picture[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    return f"data:image/jpeg;base64,{base64.b64encode(data.tobytes()).decode()}"


@cache
def _environment() -> Environment:
    made = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {"cell": _cell, "figure": _figure}
    made.globals["style"] = (FOLDER / "page.css").read_text("utf-8")
    return made


def _all(blocks: Sequence[Any]) -> Iterator[Any]:
    for block in blocks:
        yield block
        yield from _all(getattr(block, "blocks", ()))


@cache
def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else "missing" if value is None else f"{value:.4g}"


def _figure(figure: Any) -> str:
    """Return a plotly figure as HTML; plotly escapes what is in it."""
    figure.update_layout(**PLOT_LOOK)
    figure.update_xaxes(gridcolor="#8884", zerolinecolor="#8884").update_yaxes(gridcolor="#8884", zerolinecolor="#8884")
    return figure.to_html(full_html=False, include_plotlyjs=False, config=PLOT_CONFIG)
