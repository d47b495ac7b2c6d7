"""Files of variations: conditions.jsonl, outcomes_<robot>.jsonl, variation.json and report.html."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel

from pipeline.errors import reason_of, single_line
from pipeline.report import Heading, Plot, Table, Text, report_page
from pipeline.simulation.run_record import RunRecord
from pipeline.store import append_lines, parse_json, read_arrays, write_arrays, write_json, write_text
from pipeline.variation.condition import VariationError
from pipeline.variation.sensitivity import effects, wilson
from pipeline.variation.study import Outcome, VariedStart

SCHEMA = 1
"""Version of variation.json."""
CONDITIONS = "conditions.jsonl"
MAX_ROWS = 200
"""Of the table of failures."""


class ConditionRow(BaseModel):
    """A line of conditions.jsonl."""

    id: str
    start: str
    """Digest of the start."""
    values: dict[str, float | str]


class OutcomeRow(BaseModel):
    """A line of a robot's outcomes."""

    id: str
    success: bool
    reward: float
    reason: str
    policy: str = ""


Row = TypeVar("Row", ConditionRow, OutcomeRow)


def outcomes_path(folder: Path, robot: str) -> Path:
    """Return the file of a robot's outcomes; one line each, appended as they are known."""
    return Path(folder) / f"outcomes_{robot}.jsonl"


def write_conditions(starts: Sequence[VariedStart], folder: Path) -> None:
    """Write conditions.jsonl: id, start (digest) and values of each condition. The same bytes for every robot."""
    rows = [{"id": s.condition.id, "start": s.digest, "values": dict(s.condition.values)} for s in starts]
    write_text(Path(folder) / CONDITIONS, "".join(f"{json.dumps(row)}\n" for row in rows))


def read_conditions(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of conditions.jsonl; [] without one. Raises VariationError."""
    return [row.model_dump() for row in _read_lines(Path(folder) / CONDITIONS, ConditionRow)]


def read_outcomes(folder: Path, robot: str, policy: str = "") -> dict[str, Outcome]:
    """Return a robot's outcomes by id; {} without any. Raises VariationError, also for those of another policy."""
    path = outcomes_path(folder, robot)
    rows = _read_lines(path, OutcomeRow)
    if others := {row.policy for row in rows if policy} - {policy}:
        other = single_line(others.pop())[:60] or "another robot"
        raise VariationError(f"{path} holds outcomes of {other}; choose another --out folder")
    return {row.id: Outcome(row.id, row.success, row.reward, row.reason) for row in rows}


def append_outcome(folder: Path, robot: str, outcome: Outcome, policy: str = "") -> None:
    """Append an outcome to the robot's file, and write what it did if it failed. Raises StoreError."""
    row = {"id": outcome.id, "success": outcome.success, "reward": outcome.reward, "reason": outcome.reason}
    if outcome.rollout is not None and not outcome.success:
        write_rollout(outcome.rollout, rollout_path(folder, robot, outcome.id))
    append_lines(outcomes_path(folder, robot), [row | ({"policy": policy} if policy else {})])


def rollout_path(folder: Path, robot: str, id: str) -> Path:
    """Return the file of what a robot did under a condition at which it failed."""
    return Path(folder) / f"rollouts_{robot}" / f"{id}.npz"


def write_rollout(rollout: RunRecord, path: Path) -> None:
    """Write what a robot did under a condition. Inverse of `read_rollout`. Raises StoreError."""
    arrays = {"times": rollout.times, "qpos": rollout.qpos, "actions": rollout.actions, "xml": rollout.xml}
    write_arrays(path, arrays)


def read_rollout(path: Path) -> RunRecord:
    """Return what a robot did under the condition that the file is named after. Raises VariationError."""
    try:
        arrays = read_arrays(path)
        times, qpos, actions = (arrays[name].astype(float) for name in ("times", "qpos", "actions"))
        if (times.ndim, qpos.ndim, actions.ndim) != (1, 2, 2) or len(times) != len(qpos):
            raise ValueError("its arrays do not fit each other")
        return RunRecord(times, qpos, actions, xml=str(arrays["xml"]))
    except FileNotFoundError:
        raise VariationError(f"condition {path.stem} was not recorded; run it again in an empty folder") from None
    except (OSError, ValueError, KeyError) as error:
        raise VariationError(
            f"{path.name} cannot be read ({reason_of(error)}); run it again in an empty folder"
        ) from None


def _read_lines(path: Path, kind: type[Row]) -> list[Row]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        return [kind.model_validate(parse_json(line)) for line in lines]
    except (OSError, ValueError) as error:
        raise VariationError(f"{path.name} cannot be read ({reason_of(error)}); choose another --out folder") from None


def factor_table(conditions: Sequence[Mapping[str, Any]]) -> tuple[list[str], np.ndarray]:
    """Return the names of the factors and their values (N, F). A text factor is 1 where it is not the usual one.

    Which distractors there are is left out; their number is a factor.
    """
    values = [row["values"] for row in conditions]
    names = [name for name in (values[0] if values else {}) if not name.startswith("distractor_")]
    columns = []
    for name in names:
        column = [row.get(name) for row in values]
        if any(isinstance(value, str) for value in column):
            usual = max(sorted(set(column)), key=column.count)
            columns.append([float(value != usual) for value in column])
        else:
            columns.append([float(value) for value in column])
    return names, np.array(columns, float).T.reshape(len(values), len(names))


def summarise(conditions: Sequence[Mapping[str, Any]], outcomes: Mapping[str, Outcome], robot: str) -> dict[str, Any]:
    """Return the contents of variation.json: success with its interval, and the effect of each factor."""
    done = [row for row in conditions if row["id"] in outcomes]
    success = np.array([outcomes[row["id"]].success for row in done], bool)
    names, values = factor_table(done)
    found = effects(names, values, success)
    return {
        "schema": SCHEMA,
        "robot": robot,
        "success": asdict(wilson(int(success.sum()), len(success))),
        "effects": [asdict(effect) | {"matters": effect.matters} for effect in found],
        "failures": [
            {"id": row["id"], "reward": outcomes[row["id"]].reward, "reason": outcomes[row["id"]].reason}
            for row in done
            if not outcomes[row["id"]].success
        ],
    }


def write_variation(data: dict[str, Any], conditions: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Write variation.json and report.html. Raises StoreError."""
    write_text(Path(folder) / "report.html", _report(data, conditions))
    write_json(Path(folder) / "variation.json", data)


def summary_lines(data: Mapping[str, Any]) -> list[str]:
    """Return the lines that the command prints."""
    share = data["success"]
    counted = f"{share['successes']} of {share['count']} ({share['low']:.0%} to {share['high']:.0%})"
    causes = [
        f"{one['factor']}: success {one['low_success']:.0%} at {one['low_value']:.3g}, {one['high_success']:.0%} at "
        f"{one['high_value']:.3g} (p = {one['p']:.3f})"
        for one in data["effects"]
        if one["matters"]
    ]
    return [f"success {counted} with {data['robot']}", *(causes or ["success depends on no factor beyond chance"])]


def _report(data: Mapping[str, Any], conditions: Sequence[Mapping[str, Any]]) -> str:
    success = data["success"]
    rows = [
        (
            e["factor"], e["low_value"], e["low_success"], e["high_value"], e["high_success"], e["change"],
            e["change_low"], e["change_high"], e["p"], "matters" if e["matters"] else "",
        )
        for e in data["effects"]
    ]  # fmt: skip
    values = {row["id"]: row["values"] for row in conditions}
    strongest = [e["factor"] for e in data["effects"][:3]]
    failures = [
        (f["id"], f["reward"], f["reason"], *(_text(values[f["id"]].get(name)) for name in strongest))
        for f in data["failures"][:MAX_ROWS]
    ]
    blocks: list[Any] = [
        Text(
            f"{success['successes']} of {success['count']} conditions solved by {data['robot']}: "
            f"{success['low']:.0%} to {success['high']:.0%} (95 %, Wilson).",
            "result",
        ),
        Text(
            "Effects: logistic regression on one factor each, which are drawn independently; p is adjusted for the "
            "number of factors by permutations (Westfall and Young). Scripted robots and learned policies know every "
            "pose, so light, camera and table texture cannot change what they do.",
            "note",
        ),
    ]
    if data["effects"]:
        head = ("Factor", "Low", "Success", "High", "Success", "Change", "From", "To", "p", "")
        blocks += [Plot([_tornado(data["effects"])]), Heading("Effects"), Table(head, rows)]
    else:
        blocks.append(Text("Fewer than three successes or failures: nothing can be said about causes."))
    blocks += [Heading("Conditions that fail"), Table(("Id", "Reward", "Reason", *strongest), failures)]
    return report_page("Variations", blocks)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else f"{value:.4g}"


def _tornado(found: Sequence[Mapping[str, Any]]) -> Any:
    """Return the tornado plot: change of the success probability by factor, strongest at the top."""
    import plotly.graph_objects as go

    shown = found[:20][::-1]
    figure = go.Figure(
        go.Bar(
            x=[100 * e["change"] for e in shown], y=[e["factor"] for e in shown], orientation="h",
            marker_color=["#b4532a" if e["matters"] else "#9db4c6" for e in shown],
            error_x={
                "type": "data", "symmetric": False, "array": [100 * (e["change_high"] - e["change"]) for e in shown],
                "arrayminus": [100 * (e["change"] - e["change_low"]) for e in shown],
            },
        )
    )  # fmt: skip
    figure.update_layout(
        height=120 + 24 * len(shown),
        template="plotly_white",
        margin={"l": 160, "r": 20, "t": 20},
        xaxis_title="Change of success from the factor's low to its high value (percentage points, 95 %)",
    )
    return figure
