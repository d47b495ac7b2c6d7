"""Files of a calibration: calibration.json, calibrated.xml and report.html."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from pipeline.calibration.calibration import Calibration, TrialCurves
from pipeline.calibration.model_files import with_spec_values, write_model
from pipeline.divergence.report import envelope
from pipeline.report import Heading, Plot, Table, Text, report_page
from pipeline.store import write_json, write_text

SCHEMA = 1
"""Version of calibration.json."""


def to_json(calibration: Calibration, model_name: str) -> dict[str, Any]:
    """Return the contents of calibration.json, in SI units."""
    return {
        "schema": SCHEMA,
        "model": model_name,
        "parameters": [
            {
                "name": one.parameter.name, one.parameter.kind: one.parameter.element, "field": one.parameter.field,
                "initial": one.parameter.initial, "value": one.value, "low": one.low, "high": one.high,
                "identifiable": one.identifiable, "noise_bound": one.bound, "reason": one.reason,
            }
            for one in calibration.estimates
        ],
        "before": calibration.before,
        "after": calibration.after,
        "held_out_before": calibration.held_out_before,
        "held_out_after": calibration.held_out_after,
        "delay_s": {"value": calibration.delay, "low": calibration.delay_low, "high": calibration.delay_high},
        "actions": calibration.course,
        "episodes": [curves.name for curves in calibration.curves if not curves.held_out],
        "held_out": [curves.name for curves in calibration.curves if curves.held_out],
    }  # fmt: skip


def write_calibration(
    calibration: Calibration, spec: mujoco.MjSpec, model: mujoco.MjModel, source: Path, folder: Path
) -> dict[str, Any]:
    """Write calibrated.xml, report.html and, last, calibration.json; return its contents. Raises StoreError.

    Args:
        spec, model: what was calibrated, before.
        source: file that the specification was read from.
    """
    parameters = [one.parameter for one in calibration.estimates]
    calibrated = with_spec_values(spec, model, parameters, [one.value for one in calibration.estimates])
    data = to_json(calibration, source.name)
    write_model(calibrated, Path(source), Path(folder) / "calibrated.xml")
    write_text(Path(folder) / "report.html", _report(calibration, data))
    write_json(Path(folder) / "calibration.json", data)
    return data


def summary_lines(calibration: Calibration) -> list[str]:
    """Return the lines that the command prints."""
    lines = []
    for one in calibration.estimates:
        if one.identifiable:
            lines.append(
                f"{one.parameter.name}: {one.parameter.initial:.4g} -> {one.value:.4g} [{one.low:.4g}, {one.high:.4g}]"
            )
        else:
            lines.append(f"{one.parameter.name}: not identified ({one.reason}); it stays {one.parameter.initial:.4g}")
    lines.append(
        f"error {calibration.before * 1000:.2f} -> {calibration.after * 1000:.2f} mrad, "
        f"sensors {calibration.delay * 1000:.1f} ms late"
    )
    if calibration.course != "held":
        lines.append("the log is coarse: actions are taken to move linearly between its samples")
    if calibration.after > 0.9 * calibration.before:
        lines.append(
            "the error hardly fell: the model's structure or the logged actions differ; distrust the intervals"
        )
    if calibration.held_out_after is not None and calibration.held_out_before is not None:
        before, after = calibration.held_out_before * 1000, calibration.held_out_after * 1000
        lines.append(f"held-out error {before:.2f} -> {after:.2f} mrad")
    return lines


def _report(calibration: Calibration, data: dict[str, Any]) -> str:
    rows = [
        (one.parameter.name, one.parameter.initial, one.value if one.identifiable else None, one.low, one.high,
         one.bound, one.reason or "identified")
        for one in calibration.estimates
    ]  # fmt: skip
    errors: list[tuple[str, float, float | None]] = [("fitted", calibration.before, calibration.after)]
    if calibration.held_out_before is not None:
        errors.append(("held out", calibration.held_out_before, calibration.held_out_after))
    blocks: list[Any] = [
        Text(
            "Least squares over rollouts of the model under the episodes' actions. Intervals are 95 % and contain the "
            "noise and the error of the time step; they hold if the model's structure is that of the robot. The noise "
            "bound is the standard deviation that no estimate from these episodes can be below (Cramer-Rao). SI units.",
            "note",
        ),
        Table(("Parameter", "Before", "After", "Low", "High", "Noise bound", "Note"), rows),
        Heading("Error over all joints (rad; m for slides)"),
        Table(("Episodes", "Before", "After"), errors),
        Text(
            f"The sensors are {calibration.delay * 1000:.1f} ms late ({calibration.delay_low * 1000:.1f} to "
            f"{calibration.delay_high * 1000:.1f} ms)."
        ),
    ]
    for curves in calibration.curves:
        title = f"{curves.name}{' (held out)' if curves.held_out else ''}"
        blocks += [Heading(title), Plot([_figure(curves)])]
    return report_page(f"Calibration of {data['model']}", blocks)


def _figure(curves: TrialCurves) -> Any:
    """Return the measured and the simulated course of the channels that differed most before."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    error = np.sqrt(((curves.measured - curves.before) ** 2).mean(axis=0))
    # Channels of an episode that the report draws: those with the largest error before
    chosen = sorted(np.argsort(-error, kind="stable")[:12])
    figure: Any = make_subplots(
        len(chosen),
        1,
        shared_xaxes=True,
        vertical_spacing=0.2 / len(chosen),
        subplot_titles=[curves.channels[channel] for channel in chosen],
    )
    looks = (
        ("measured", curves.measured, "#888888"),
        ("before", curves.before, "#b4532a"),
        ("after", curves.after, "#2f6f9f"),
    )
    for row, channel in enumerate(chosen, 1):
        for name, values, colour in looks:
            x, y = envelope(curves.times, values[:, channel])
            line = {"color": colour, "width": 1.2}
            figure.add_trace(go.Scatter(x=x, y=y, name=name, line=line, showlegend=row == 1), row=row, col=1)
    figure.update_xaxes(title_text="Seconds", row=len(chosen), col=1)
    figure.update_layout(height=140 * len(chosen) + 100, template="plotly_white", margin={"l": 60, "r": 20})
    return figure
