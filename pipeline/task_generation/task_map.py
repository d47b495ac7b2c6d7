"""The map of tasks: how difficult each is against how new, as a plotly figure."""

from collections.abc import Mapping, Sequence
from typing import Any

COLOURS = {1: "#2f6f9f", 2: "#5b7f3a", 3: "#b4532a"}
SYMBOLS = {1: "circle", 2: "square", 3: "diamond"}
AXES = {"difficulty": "Difficulty as measured", "novelty": "Novelty"}
MAX_LABEL = 60
"""Letters of a line of a label."""


def task_map(tasks: Sequence[Mapping[str, Any]], dark: bool = False) -> Any:
    """Return the scatter plot of tasks as `task_set.task_row` gives them; customdata holds each task's id."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for level in sorted({one["level"] for one in tasks if one["level"]}):
        own = [one for one in tasks if one["level"] == level]
        figure.add_scatter(
            x=[one["difficulty"] for one in own], y=[one["novelty"] for one in own], mode="markers",
            name=f"Level {level}", customdata=[[one["id"], wrapped(one["instruction"])] for one in own],
            marker={"color": COLOURS[level], "symbol": SYMBOLS[level], "size": 11, "opacity": 0.85},
            hovertemplate="%{customdata[1]}<extra></extra>",
        )  # fmt: skip
    figure.update_layout(
        template="plotly_dark" if dark else "plotly_white", height=380, margin={"l": 60, "r": 20, "t": 20, "b": 50},
        xaxis_title=AXES["difficulty"], yaxis_title=AXES["novelty"], hovermode="closest",
        legend={"orientation": "h", "y": 1.08},
    )  # fmt: skip
    return figure


def wrapped(text: str) -> str:
    """Return a text in lines of a label."""
    lines, line = [], ""
    for word in text.split():
        if len(line) + len(word) > MAX_LABEL:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return "<br>".join([*lines, line])
