"""Bar chart of scores in [0, 1], as an interactive plotly figure."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go


def bar_chart(groups: Mapping[str, Sequence[float]], series: Sequence[str], title: str) -> go.Figure:
    """Return a figure with one group of bars for each name and one bar for each series, with its value above it."""
    names = list(groups)
    bars = [
        go.Bar(name=label, x=names, y=[groups[name][index] for name in names], texttemplate="%{y:.2f}")
        for index, label in enumerate(series)
    ]
    figure = go.Figure(bars)
    figure.update_traces(textposition="outside")
    figure.update_layout(title=title, barmode="group", template="plotly_white", legend={"orientation": "h"})
    figure.update_yaxes(range=[0, 1.1])
    return figure
