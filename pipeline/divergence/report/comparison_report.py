"""report.html: a comparison in one file that opens without a network (Figures 5 to 8 of the Real2Sim paper)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.divergence.comparison import Comparison
from pipeline.divergence.comparison_files import to_json
from pipeline.divergence.episode import Episode
from pipeline.report import Heading, Picture, Pictures, Plot, Table, Text, report_page

if TYPE_CHECKING:  # it needs a second to import
    from pipeline.divergence.report.event_strip import EventPicture

Curves = Mapping[str, Mapping[str, Sequence[float]]]

COLOURS = ("#2f6f9f", "#b4532a", "#5b7f3a", "#7a5195")
OVERALL = "#888888"
GAP_COLOUR = "rgba(128, 128, 128, 0.4)"
PHASE_COLOURS = {"approach": "#6090b8", "grasp": "#e0a030", "transfer": "#70ae50", "release": "#a878b4"}
STRIP_NOTE = "Frames of a video where the episode has one, else the robot's model at the logged positions."

POINTS = 4000
"""Of a curve; a longer one is drawn by the extremes of its sections."""
BINS = 40
DIGITS = 6
"""Decimals of a curve's values."""


def report_html(
    data: dict[str, Any], curves: Curves, histograms: Curves, pictures: Sequence["EventPicture"] = ()
) -> str:
    """Return the report: curves on one time axis, event strip, distribution, and tables per joint, phase and event.

    Args:
        data: contents of comparison.json.
        curves, histograms: as from `error_curves` and `error_histograms`.
        pictures: of the events, in their order.
    """
    blocks = [
        Text(f"{data['real']} (real) and {data['sim']} (simulated)."),
        Text(_summary(data), "result"),
        Text(
            "RMSE_norm: root of the mean of ((q_sim - q_real) / range)² over the joints and the gripper of an arm, "
            "without unit (Real2Sim, section III-F). Times are on the clock of the real episode.",
            "note",
        ),
        Plot([_curves(curves, data)]),
        *_strip(data["events"], pictures),
        Heading("Distribution of RMSE_norm"),
        Plot([_distribution(histograms)]),
        *_tables(data),
    ]
    return report_page("Real against simulated", blocks)


def _summary(data: dict[str, Any]) -> str:
    shift = f"Aligned by {data['align']}: the simulation is {data['shift_s']:+.3f} s late."
    onset = data["onset"]
    for gap in data["gaps"]:
        shift += f" No samples of {data[gap['episode']]} from {gap['start_s']:.2f} to {gap['stop_s']:.2f} s."
    if onset is None:
        return f"{shift} The differences stay within the noise."
    where = f"{onset['cause']} ({onset['arm']}, {onset['joint']})"
    earlier = ", or earlier in the gap before it" if onset["after_gap"] else ""
    return f"{shift} Divergence begins at {onset['time_s']:.3f} s, in {where}{earlier}."


def _curves(curves: Curves, data: dict[str, Any]) -> Any:
    """Return the figure of the errors over time and the event strip, on one axis."""
    from plotly.subplots import make_subplots

    kinds = [("rmse", "RMSE_norm", 1.0), ("position", "Tool position error (mm)", 1000.0)]
    kinds.append(("rotation", "Tool rotation error (°)", 180 / np.pi))
    kinds = [kind for kind in kinds if any(name.startswith(f"{kind[0]}_") for name in curves)]
    rows = len(kinds) + 1
    figure: Any = make_subplots(
        rows,
        1,
        shared_xaxes=True,
        vertical_spacing=0.05,
        row_heights=[*[1.0] * len(kinds), 0.2 + 0.25 * len(data["arms"])],
        subplot_titles=[*(title for _, title, _ in kinds), "Events: real above, simulated below"],
    )
    for row, (kind, _, factor) in enumerate(kinds, 1):
        for number, arm in enumerate(data["arms"]):
            if f"{kind}_{arm}" in curves:
                _line(figure, row, curves[f"{kind}_{arm}"], arm, COLOURS[number % len(COLOURS)], factor)
        if kind == "rmse" and len(data["arms"]) > 1:
            _line(figure, row, curves["rmse_overall"], "overall", OVERALL)
    for phase in next(iter(data["arms"].values()))["phases"]:
        name = phase["name"]
        look = {"fillcolor": PHASE_COLOURS[name], "opacity": 0.18, "line_width": 0, "layer": "below"}
        note = {"annotation_text": name, "annotation_position": "top left", "annotation_font_size": 10}
        figure.add_vrect(phase["start_s"], phase["stop_s"], row=1, col=1, **look, **note)
    for gap in data["gaps"]:
        look = {"fillcolor": GAP_COLOUR, "line_width": 0, "layer": "below", "row": "all", "col": 1}
        figure.add_vrect(gap["start_s"], gap["stop_s"], **look)
    if data["onset"]:
        look = {"line_dash": "dash", "line_color": "#b00020"}
        figure.add_vline(data["onset"]["time_s"], row="all", col=1, **look)
    _event_marks(figure, rows, data)
    figure.update_xaxes(title_text="Seconds (real)", row=rows, col=1)
    figure.update_layout(
        height=230 * len(kinds) + 120 + 60 * len(data["arms"]),
        hovermode="x unified",
        template="plotly_white",
        margin={"l": 60, "r": 20, "t": 40, "b": 40},
        legend={"orientation": "h", "y": 1.08},
    )
    return figure


def _line(
    figure: Any, row: int, curve: Mapping[str, Sequence[float]], name: str, colour: str, factor: float = 1.0
) -> None:
    import plotly.graph_objects as go

    line = {"color": colour, "width": 1.5}
    x, y = np.array(curve["t"], float), np.array(curve["y"], float) * factor
    figure.add_trace(
        go.Scatter(x=x, y=y, name=name, legendgroup=name, showlegend=row == 1, line=line, mode="lines"), row=row, col=1
    )


def _event_marks(figure: Any, row: int, data: dict[str, Any]) -> None:
    """Draw the events of each arm, those of the real episode on a line above the simulated ones."""
    import plotly.graph_objects as go

    ticks: list[str] = []
    for number, arm in enumerate(data["arms"]):
        for side, key in (("real", "real_s"), ("sim", "sim_on_real_s")):
            events = [event for event in data["events"] if event["arm"] == arm and event[key] is not None]
            ticks.append(f"{arm} {side}")
            marks = go.Scatter(
                x=[event[key] for event in events], y=[ticks[-1]] * len(events), text=[e["name"] for e in events],
                mode="markers+text", textposition="top center", textfont={"size": 10}, showlegend=False,
                marker={"color": COLOURS[number % len(COLOURS)], "size": 9,
                        "symbol": "circle" if side == "real" else "diamond-open"},
                hovertemplate=f"%{{text}}, {ticks[-1]}<extra></extra>",
            )  # fmt: skip
            figure.add_trace(marks, row=row, col=1)
    figure.update_yaxes(categoryorder="array", categoryarray=ticks[::-1], range=[-0.5, len(ticks)], row=row, col=1)


def _strip(events: Sequence[dict[str, Any]], pictures: Sequence["EventPicture"]) -> list[Any]:
    """Return the events with their pictures in the order of time: the real one above the simulated one."""
    if not any(picture.real or picture.sim for picture in pictures):
        return []
    columns, heads = [], []
    for event, picture in zip(events, pictures, strict=False):
        heads.append(f"{event['name']} {event['arm']}")
        columns.append([])
        for side, clock, label in (("real", "real_s", "real"), ("sim", "sim_on_real_s", "simulated")):
            time, url = event[clock], picture.to_json()[side]
            when = "missing" if time is None else f"{time:.2f} s"
            title = f"{event['name']}, {label}" if url else when if time is None else "no picture"
            columns[-1].append(Picture(url, title, f"{label} {when}"))
    return [Heading("Events"), Text(STRIP_NOTE, "note"), Pictures(columns, heads)]


def _distribution(histograms: Curves) -> Any:
    """Return the histogram of RMSE_norm of each arm (Figures 7d and 8d)."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for number, (arm, one) in enumerate(histograms.items()):
        edges = np.array(one["edges"], float)
        bars = go.Bar(x=(edges[1:] + edges[:-1]) / 2, y=np.array(one["share"], float), name=arm, width=np.diff(edges),
                      opacity=0.6, marker_color=COLOURS[number % len(COLOURS)])  # fmt: skip
        figure.add_trace(bars)
    figure.update_layout(
        height=280, barmode="overlay", template="plotly_white", xaxis_title="RMSE_norm", yaxis_title="Share of samples",
        margin={"l": 60, "r": 20, "t": 20, "b": 40},
    )  # fmt: skip
    return figure


def _tables(data: dict[str, Any]) -> list[Any]:
    joints, phases = [], []
    for arm, result in data["arms"].items():
        joints += [
            (arm, joint["name"], joint["rmse"], joint["largest"], joint["range"], joint["range_source"])
            for joint in result["joints"]
        ]
        phases += [
            (arm, phase["name"], phase["start_s"], phase["stop_s"], phase["rmse_mean"], phase["growth_per_s"])
            for phase in result["phases"]
        ]
    events = [
        (event["arm"], event["name"], event["real_s"], event["sim_on_real_s"], event["delay_s"])
        for event in data["events"]
    ]
    return [
        Heading("Joints"),
        Table(("Arm", "Joint", "RMSE (rad, m)", "Largest", "Range", "Range from"), joints),
        Heading("Error growth by phase"),
        Table(("Arm", "Phase", "From (s)", "To (s)", "Mean RMSE_norm", "Growth per s"), phases),
        Heading("Times of the events"),
        Table(("Arm", "Event", "Real (s)", "Simulated (s)", "Simulated later by (s)"), events),
    ]


def drawn_result(comparison: Comparison, real: Episode, sim: Episode) -> dict[str, Any]:
    """Return what a page draws of a comparison: {"comparison": contents of comparison.json, "curves", "joints"}."""
    joints = joint_curves(comparison, real, sim)
    return {"comparison": to_json(comparison), "curves": error_curves(comparison), "joints": joints}


def error_curves(comparison: Comparison) -> dict[str, dict[str, list]]:
    """Return {"t", "y"} of each error over time, by the name of its column; at most POINTS points each.

    A curve has one more point without a value, None, in each gap.
    """
    times, curves = comparison.errors["t"], {}
    for name in [name for name in comparison.errors if name not in ("t", "t_sim")]:
        t, y = _curve(times, comparison.errors[name], [gap.start for gap in comparison.gaps])
        curves[name] = {"t": t, "y": y}
    return curves


def joint_curves(comparison: Comparison, real: Episode, sim: Episode) -> dict[str, dict[str, list]]:
    """Return {"t", "real", "t_sim", "sim"} of each joint and gripper, both times on REAL's clock.

    A curve has one more point without a value, None, in each gap of its episode.
    """
    alignment = comparison.alignment
    gaps = {side: [gap.start for gap in comparison.gaps if gap.side == side] for side in ("real", "sim")}
    names = [joint.name for arm in comparison.arms.values() for joint in arm.joints]
    sim_times = alignment.real_times(sim.times)
    curves = {}
    for name in names:
        t, q_real = _curve(real.times, real.positions[:, real.names.index(name)], gaps["real"])
        t_sim, q_sim = _curve(sim_times, sim.positions[:, sim.names.index(name)], gaps["sim"])
        curves[name] = {"t": t, "real": q_real, "t_sim": t_sim, "sim": q_sim}
    return curves


def error_histograms(comparison: Comparison) -> dict[str, dict[str, list[float]]]:
    """Return {"edges": (BINS + 1,), "share": (BINS,)} of each arm's RMSE_norm over the samples (Figures 7d and 8d)."""
    found = {}
    for arm in comparison.arms:
        errors = comparison.errors[f"rmse_{arm}"]
        low, high = float(errors.min()), float(errors.max())
        if high - low < 1e-9 * max(1.0, abs(high)):  # the same error throughout leaves no room for bins
            low, high = low - 1e-6 * max(1.0, abs(low)), high + 1e-6 * max(1.0, abs(high))
        counts, edges = np.histogram(errors, bins=BINS, range=(low, high))
        found[arm] = {"edges": edges.tolist(), "share": (counts / counts.sum()).tolist()}
    return found


def envelope(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return at most POINTS points of a curve that keep the smallest and largest value of each section, by time."""
    if len(times) <= POINTS:
        return times, values
    size = -(-len(times) // (POINTS // 2))
    starts = np.arange(0, len(times), size)
    picked = []
    for start in starts:
        section = values[start : start + size]
        picked += sorted((start + int(section.argmin()), start + int(section.argmax())))
    return times[picked], values[picked]


def _curve(times: np.ndarray, values: np.ndarray, gaps: Sequence[float]) -> tuple[list[float], list[float | None]]:
    """Return a curve's points, with one without a value after the last sample before each gap."""
    t, y = envelope(times, values)
    at = np.searchsorted(t, np.array(gaps) + 1e-6)
    t, y = np.insert(t, at, gaps), np.insert(y, at, np.nan)
    return np.round(t, DIGITS).tolist(), [None if value != value else value for value in np.round(y, DIGITS).tolist()]
