"""Reward and passed checks by round, as an interactive plot."""

import html
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pipeline.object_words import object_words
from pipeline.router import Round
from studio.sessions.session import Session
from studio.texts import current_language, t

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

REWARD_COLOUR, CHECKS_COLOUR = "#1f5fa8", "#1e8e4e"
MIN_ROUNDS = 2
TOOLS = ["zoom", "pan", "select", "lasso", "zoomin", "zoomout", "autoscale", "resetscale", "toimage"]
"""Of the plot's tool bar, which would cover its legend."""


def round_chart(session: Session | None) -> Any:
    """Return the plot of the session's rounds while a person looks at it; None for fewer than two.

    A browser stands still for seconds when it loads the plot's script, so it is not drawn while rounds are watched.
    """
    if session is None or not session.charts_rounds:
        return None
    rounds = session.cache.get("rounds", "rounds.jsonl", session.project.rounds)
    if len(rounds) < MIN_ROUNDS:
        return None
    words = object_words(session.project)
    shown = [replace(one, reason=words.in_words(one.reason)) for one in rounds]
    name = f"round chart {current_language.get()} {words.display}"
    return session.cache.get(name, "rounds.jsonl", lambda: rounds_figure(shown))


def set_chart(session: Session, message: Mapping[str, Any]) -> None:
    """Show the plot, or not: {on}."""
    session.charts_rounds = bool(message.get("on"))


def rounds_figure(rounds: Sequence[Round]) -> "Figure":
    """Return the mean reward and the share of passed checks by round; the route and its reason show on hover."""
    from plotly import graph_objects as go  # a second to import; most sessions need no plot

    numbers = [one.number for one in rounds]
    rewards = [sum(one.report.reward) / len(one.report.reward) if one.report.reward else None for one in rounds]
    passed = [sum(c.passed for c in one.report.checks) / max(1, len(one.report.checks)) for one in rounds]
    routes = [f"{one.route.replace('_', ' ') or 'no decision'}: {_wrapped(one.reason)}" for one in rounds]
    figure = go.Figure()
    for name, values, colour in ((t("Reward"), rewards, REWARD_COLOUR), (t("Checks passed"), passed, CHECKS_COLOUR)):
        hover = f"{t('Round')} %{{x}}<br>{name} %{{y:.2f}}<br>%{{customdata}}<extra></extra>"
        line = go.Scatter(x=numbers, y=values, name=name, mode="lines+markers", line_color=colour)
        figure.add_trace(line.update(customdata=routes, hovertemplate=hover))
    figure.update_layout(height=240, margin={"l": 40, "r": 10, "t": 28, "b": 36}, template="plotly_white")
    figure.update_layout(paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)")
    figure.update_layout(legend={"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom"}, modebar_remove=TOOLS)
    figure.update_xaxes(title=t("Round"), dtick=1)
    figure.update_yaxes(range=[-0.05, 1.05])
    return figure


def _wrapped(text: str, columns: int = 70) -> str:
    """Return plain text as lines of HTML for a hover label."""
    return "<br>".join(html.escape(line) for line in textwrap.wrap(text, columns))
