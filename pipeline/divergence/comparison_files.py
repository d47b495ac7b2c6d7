"""Files of a comparison: comparison.json, comparison.npz and report.html."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.divergence.comparison import ArmResult, Comparison
from pipeline.divergence.events import EpisodeEvent
from pipeline.store import write_arrays, write_json, write_text

if TYPE_CHECKING:
    from pipeline.divergence.report.event_strip import EventPicture

SCHEMA = 1
"""Version of comparison.json."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MAX_GAPS = 5
"""Gaps that the command names; comparison.json has them all."""
HEIGHT_FROM = {"lift": "grasp", "place": "release"}
"""Events whose heights are measured from that at another event."""


def write_comparison(comparison: Comparison, folder: Path, pictures: Sequence["EventPicture"] = ()) -> None:
    """Write comparison.json, comparison.npz and report.html, with the pictures of its events. Raises StoreError."""
    from pipeline.divergence.report import error_curves, error_histograms, report_html

    folder = Path(folder)
    data = to_json(comparison)
    write_arrays(folder / "comparison.npz", comparison.errors)
    write_text(
        folder / "report.html", report_html(data, error_curves(comparison), error_histograms(comparison), pictures)
    )
    write_json(folder / "comparison.json", data)


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Return the contents of comparison.json: seconds on REAL's clock, metres, radians, RMSE_norm without unit."""
    alignment, onset = comparison.alignment, comparison.onset
    overall = comparison.errors["rmse_overall"]
    times = comparison.errors["t"]
    # RMSE_norm overall whose first instants are listed
    crossed = {level: np.flatnonzero(overall > level) for level in (0.01, 0.02, 0.05, 0.1)}
    return {
        "schema": SCHEMA,
        "real": comparison.real,
        "sim": comparison.sim,
        "align": alignment.method,
        "shift_s": alignment.shift,
        "overlap_s": float(times[-1] - times[0]),
        "samples": len(times),
        "onset_s": onset.time if onset else None,
        "onset": {
            "time_s": onset.time,
            "cause": onset.cause,
            "arm": onset.arm,
            "joint": onset.joint,
            "after_gap": onset.after_gap,
        }
        if onset
        else None,
        "first_above_s": {str(level): float(times[rows[0]]) if len(rows) else None for level, rows in crossed.items()},
        "overall": {"rmse": _distribution(overall)},
        "arms": {name: _arm(comparison, name, arm) for name, arm in comparison.arms.items()},
        "events": list(_events(comparison)),
        "gaps": [{"episode": gap.side, "start_s": gap.start, "stop_s": gap.stop} for gap in comparison.gaps],
    }


def _arm(comparison: Comparison, name: str, arm: ArmResult) -> dict[str, Any]:
    result: dict[str, Any] = {"rmse": _distribution(comparison.errors[f"rmse_{name}"])}
    for kind, unit in (("position", "m"), ("rotation", "rad")):
        if f"{kind}_{name}" in comparison.errors:
            result[f"{kind}_{unit}"] = _distribution(comparison.errors[f"{kind}_{name}"])
    result["joints"] = [
        {
            "name": joint.name, "weight": joint.weight, "range": joint.range, "range_source": joint.range_source,
            "rmse": float(joint.rmse), "largest": float(joint.largest),
        }
        for joint in arm.joints
    ]  # fmt: skip
    result["phases"] = [
        {
            "name": one.phase.name, "start_s": one.phase.start, "stop_s": one.phase.stop, "rmse_mean": one.mean,
            "rmse_first": one.first, "rmse_last": one.last, "growth_per_s": one.per_second,
        }
        for one in arm.growth
    ]  # fmt: skip
    return result


def _distribution(values: np.ndarray) -> dict[str, float]:
    quantiles = np.quantile(values, QUANTILES)
    return {
        "mean": float(values.mean()),
        "final": float(values[-1]),
        "max": float(values.max()),
        **{f"p{round(100 * q):02d}": float(value) for q, value in zip(QUANTILES, quantiles, strict=True)},
    }


def _events(comparison: Comparison) -> Iterable[dict[str, Any]]:
    """Yield the events of both episodes, paired by arm, name and hold, by time on REAL's clock.

    delay_s is how much later SIM is after the alignment; it is null if a side lacks the event, or samples around it.
    """
    found = []
    for name, arm in comparison.arms.items():
        sides = [{(e.name, e.hold): e for e in events.events(name)} for events in (arm.real, arm.sim)]
        for key in dict.fromkeys([*sides[0], *sides[1]]):
            # heights of a lift are above that at the grasp, and of a place above that at the release
            bases = (key, (HEIGHT_FROM.get(key[0], key[0]), key[1]))
            unsure = any(
                _is_in_gap(comparison, episode, side[base].time)
                for episode, side in zip(("real", "sim"), sides, strict=True)
                for base in bases
                if base in side
            )
            found.append(_event(comparison, sides[0].get(key), sides[1].get(key), unsure))
    return sorted(found, key=lambda event: event["time_s"])


def _event(comparison: Comparison, real: EpisodeEvent | None, sim: EpisodeEvent | None, unsure: bool) -> dict[str, Any]:
    event = real or sim
    assert event is not None
    on_real = None if sim is None else float(comparison.alignment.real_times(np.array([sim.time]))[0])
    return {
        "name": event.name, "arm": event.arm, "hold": event.hold, "time_s": on_real if real is None else real.time,
        "real_s": real.time if real else None, "sim_s": sim.time if sim else None, "sim_on_real_s": on_real,
        "delay_s": None if real is None or on_real is None or unsure else on_real - real.time,
    }  # fmt: skip


def _is_in_gap(comparison: Comparison, side: str, time: float) -> bool:
    """Whether an event of one episode, in seconds on its own clock, may have happened anywhere in a gap."""
    if side == "sim":
        time = float(comparison.alignment.real_times(np.array([time]))[0])
    return any(gap.side == side and gap.start - 1e-6 <= time <= gap.stop + 1e-6 for gap in comparison.gaps)


def summary_lines(data: dict[str, Any]) -> list[str]:
    """Return the lines that the command prints about a comparison, from comparison.json."""
    lines = [
        f"shift {data['shift_s']:+.3f} s ({data['align']}), overlap {data['overlap_s']:.2f} s, "
        f"RMSE_norm overall {data['overall']['rmse']['mean']:.4f} (mean), {data['overall']['rmse']['max']:.4f} (max)"
    ]
    for gap in data["gaps"][:MAX_GAPS]:
        lines.append(
            f"gap: {data[gap['episode']]} has no samples from {gap['start_s']:.3f} to {gap['stop_s']:.3f} s; they are "
            "left out of the measures"
        )
    if more := data["gaps"][MAX_GAPS:]:
        lines.append(f"{len(more)} more gaps")
    if onset := data["onset"]:
        where = f"{onset['cause']} ({onset['arm']} arm, {onset['joint']})"
        earlier = ", or earlier in the gap before it" if onset["after_gap"] else ""
        lines.append(f"diverges from {onset['time_s']:.3f} s on, in {where}{earlier}")
    else:
        lines.append("no onset of divergence: the differences stay within the noise")
    return lines
