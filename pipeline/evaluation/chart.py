"""Bar chart of scores in [0, 1], as an interactive plotly figure."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go


def bar_chart(
    groups: Mapping[str, Sequence[float]],
    series: Sequence[str],
    title: str,
    intervals: Mapping[str, Sequence[tuple[float, float]]] | None = None,
) -> go.Figure:
    """Return a figure with one group of bars for each name and one bar for each series, with its value above it.

    `intervals` are the low and high end of each bar, drawn as error bars.
    """
    bars = [_bars(groups, index, label, intervals) for index, label in enumerate(series)]
    figure = go.Figure(bars)
    figure.update_traces(textposition="outside")
    figure.update_layout(title=title, barmode="group", template="plotly_white", legend={"orientation": "h"})
    figure.update_yaxes(range=[0, 1.1])
    return figure


def _bars(
    groups: Mapping[str, Sequence[float]],
    index: int,
    label: str,
    intervals: Mapping[str, Sequence[tuple[float, float]]] | None,
) -> go.Bar:
    """Return the bars of one series."""
    heights = [values[index] for values in groups.values()]
    errors = None
    if intervals:
        ends = [intervals[name][index] for name in groups]
        above = [high - height for (_, high), height in zip(ends, heights, strict=True)]
        below = [height - low for (low, _), height in zip(ends, heights, strict=True)]
        errors = {"type": "data", "symmetric": False, "array": above, "arrayminus": below}
    return go.Bar(name=label, x=list(groups), y=heights, texttemplate="%{y:.2f}", error_y=errors)
