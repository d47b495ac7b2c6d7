"""A model's acceptance: one report of matches, masks, tasks, rewards and the ablation of the router.

Its parts are JSON values, so that a part that has ended is kept and never measured again.
"""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from pipeline.evaluation.ablation_report import HEADS, table_cells
from pipeline.evaluation.match_scores import EvaluationError
from pipeline.evaluation.matcher_evaluation import MatcherAccuracy, MatcherTable
from pipeline.evaluation.significance import mean_interval
from pipeline.models.trace.call_log import CallLog, totals
from pipeline.report import Facts, Heading, Table, Text, report_page
from pipeline.segmentation import decode_rle
from pipeline.store import parse_json
from pipeline.variation.sensitivity import wilson

SCHEMA = 1
FRAME_FILES = ("rgb.png", "depth.png", "camera.json")


def truth_masks(frame: Path) -> dict[str, np.ndarray]:
    """Return the visible pixels (H, W), bool, of each labelled object of a frame's folder; empty where nothing is.

    They are in `expected.json`, as beside the sample scenes, or in `truth/masks.png`. Raises EvaluationError.
    """
    expected, labels = frame / "expected.json", frame / "truth" / "masks.png"
    try:
        if expected.is_file():
            objects = parse_json(expected.read_text("utf-8"))["objects"]
            return {f"{number} {one['name']}": decode_rle(one["mask"]) for number, one in enumerate(objects, 1)}
        if not labels.is_file():
            return {}
        with Image.open(labels) as image:
            numbers = np.array(image).astype(int)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EvaluationError(f"the labels of {frame} cannot be read ({type(error).__name__})") from None
    return {str(number): numbers == number for number in np.unique(numbers[numbers > 0])}


def labelled_copy(frame: Path, folder: Path) -> list[dict[str, Any]] | None:
    """Copy a frame with `expected.json` into `folder`/NAME with truth/masks.png; return its labels, else None.

    Labels are {"id", "exact": [asset id], "category": [], "either": []}. Raises EvaluationError.
    """
    expected, copy = frame / "expected.json", folder / frame.name
    if not expected.is_file():
        return None
    shutil.rmtree(copy, ignore_errors=True)
    (copy / "truth").mkdir(parents=True)
    for name in FRAME_FILES:
        shutil.copy(frame / name, copy / name)
    masks = list(truth_masks(frame).values())
    labels = np.zeros(masks[0].shape, np.uint16)
    for number, mask in enumerate(masks, 1):
        labels[mask] = number
    Image.fromarray(labels).save(copy / "truth" / "masks.png")
    (copy / "truth" / "truth.json").write_text('{"complete": true}', "utf-8")
    objects = parse_json(expected.read_text("utf-8"))["objects"]
    return [{"id": k, "exact": [one["asset_id"]], "category": []} for k, one in enumerate(objects, 1)]


def agreements(masks: Iterable[np.ndarray], truth: Mapping[str, np.ndarray]) -> list[float]:
    """Return the best intersection over union that any mask (H, W) has with each labelled object."""
    masks = list(masks)
    return [
        max((float((mask & true).sum() / max((mask | true).sum(), 1)) for mask in masks), default=0.0)
        for true in truth.values()
        if true.any()
    ]


def matching_part(table: MatcherTable) -> dict[str, Any]:
    """Return Table 1 as JSON values, without times."""
    rows = [
        {
            "matcher": one.matcher, "not_measured": one.unavailable, "exact": _accuracy(one.exact),
            "category": _accuracy(one.category), "calls": one.calls, "unusable": one.failed,
        }
        for one in table.lines
    ]  # fmt: skip
    return {"frames": table.frames, "n": table.objects, "assets": table.assets, "rows": rows}


def _accuracy(figures: MatcherAccuracy | None) -> dict[str, float | None] | None:
    if figures is None:
        return None
    one = figures.f1
    numbers = {"f1": one.f1, "low": one.low, "high": one.high, "first": figures.first, "among_five": figures.five}
    return {name: _finite(number) for name, number in numbers.items()}


def acceptance_report(
    facts: Mapping[str, Any], scenes: Sequence[Mapping[str, Any]], matching: Mapping[str, Any] | None,
    ablation: Sequence[Mapping[str, Any]], trace: Path, stopped: str,
) -> dict[str, Any]:  # fmt: skip
    """Return report.json: every share with n and its 95 % interval, unusable answers and cost by the trace.

    Args:
        facts: model, segmenter, and names of scenes.
        scenes: of each scene "masks" {before, after, edits}, "task" and "rewards"; any may be None.
        matching: from `matching_part`; None where it was not measured.
        ablation: rows of ablation_report.summary.
        trace: the calls.
        stopped: why parts are missing; empty where none is.
    """
    masks = [one["masks"] for one in scenes if one["masks"]]
    before, after = (np.array([iou for one in masks for iou in one[key]]) for key in ("before", "after"))
    tasks, rewards = ([one[key] for one in scenes if one[key]] for key in ("task", "rewards"))
    layouts = [solved for one in tasks for solved in one["solved"]]
    return {
        "schema": SCHEMA,
        **facts,
        "matching": matching,
        "masks": {
            "n": len(before), "edits": sum(one["edits"] for one in masks), "before": _mean(before),
            "after": _mean(after), "gain": _gain(after - before),
        },
        "tasks": {
            "proposed": sum(one["proposed"] for one in tasks),
            "programs_done": _share([one["done"] for one in tasks]), "layouts_solved": _share(layouts),
        },
        "rewards": {
            "subtasks": sum(one["subtasks"] for one in rewards), "dropped": sum(one["dropped"] for one in rewards),
            "every_goal_covered": _share([one["covered"] for one in rewards]),
        },
        "ablation": [{key: value for key, value in row.items() if key != "seconds"} for row in ablation],
        "scenes": list(scenes),
        **_calls(trace),
        "stopped": stopped,
    }  # fmt: skip


def _calls(trace: Path) -> dict[str, Any]:
    """Return calls, unusable answers and tokens by kind, and the cost in USD; None where no call reported it."""
    ended = [call for call in CallLog(trace).read() if call.ended and not _was_interrupted(call.attributes)]
    kinds = {kind: totals(call for call in ended if call.kind == kind) for kind in sorted({one.kind for one in ended})}
    cost = totals(ended).cost
    rows = [
        {"kind": kind, "calls": one.calls, "unusable": one.failed,
         "tokens": int(one.tokens.sum) if one.tokens.reported else None}
        for kind, one in kinds.items()
    ]  # fmt: skip
    return {"calls": rows, "cost_usd": round(cost.sum, 6) if cost.reported else None}


def _was_interrupted(attributes: Mapping[str, Any]) -> bool:
    """Whether a call ended because nobody waited for its answer, or was never sent."""
    kind = str(attributes.get("status_message") or "").partition(":")[0]
    return kind not in ("", "ModelError")


def _share(values: Sequence[bool]) -> dict[str, Any]:
    """Return the share with n and its 95 % interval (Wilson); None without values."""
    found = wilson(sum(values), len(values)) if values else None
    return {"n": len(values), "mean": found and found.value, "low": found and found.low, "high": found and found.high}


def _gain(values: np.ndarray) -> dict[str, Any]:
    """Return the mean with n and its 95 % interval over objects (bootstrap); None without values."""
    low, high = mean_interval([*values]) if len(values) else (None, None)
    return {"n": len(values), "mean": _mean(values), "low": low, "high": high}


def _mean(values: Sequence[float] | np.ndarray) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _finite(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def acceptance_page(report: Mapping[str, Any]) -> str:
    """Return report.json as one HTML page."""
    cost = "unknown" if report["cost_usd"] is None else f"${report['cost_usd']:.2f}"
    facts = {
        "Model": report["model"],
        "Segmenter": report["segmenter"],
        "Scenes": ", ".join(report["names"]),
        "Cost": cost,
    }
    masks, tasks, rewards = report["masks"], report["tasks"], report["rewards"]
    figures = [
        ("IoU of masks before the model's edits", masks["n"], _text(masks["before"])),
        ("IoU of masks after them", masks["n"], _text(masks["after"])),
        (f"gain of IoU (edits: {masks['edits']})", masks["n"], _interval(masks["gain"])),
        (f"programs that pass every check (tasks proposed: {tasks['proposed']})",
         tasks["programs_done"]["n"], _interval(tasks["programs_done"])),
        ("layouts solved", tasks["layouts_solved"]["n"], _interval(tasks["layouts_solved"])),
        (f"tasks whose goals their subtasks cover (subtasks: {rewards['subtasks']}, unusable: {rewards['dropped']})",
         rewards["every_goal_covered"]["n"], _interval(rewards["every_goal_covered"])),
    ]  # fmt: skip
    blocks: list[Any] = [Text(f"Stopped: {report['stopped']}", "fault")] if report["stopped"] else []
    blocks += [Facts(facts), Table(("measured", "n", "mean (95 % interval)"), figures), Heading("Table 1: matching")]
    if matching := report["matching"]:
        head = ("matcher", "exact F1", "category F1", "calls", "unusable")
        blocks += [
            Text(f"Objects: {matching['n']}, frames: {matching['frames']}, assets: {matching['assets']}"),
            Table(head, [_matcher_cells(row) for row in matching["rows"]]),
        ]
    else:
        blocks.append(Text("Not measured: no frame has labels of assets, or the run was stopped."))
    blocks += [Heading("Ablation of the router"), Table(HEADS, [table_cells(row) for row in report["ablation"]])]
    calls = [
        (one["kind"], one["calls"], one["unusable"], "-" if one["tokens"] is None else f"{one['tokens']:,}")
        for one in report["calls"]
    ]
    blocks += [Heading("Calls"), Table(("question", "calls", "unusable", "tokens"), calls)]
    return report_page("Acceptance of a model", blocks)


def _matcher_cells(row: Mapping[str, Any]) -> list[Any]:
    if row["not_measured"]:
        return [row["matcher"], f"not measured: it {row['not_measured']}", "", "", ""]
    figures = [
        "-" if row[key] is None or row[key]["f1"] is None else _interval({**row[key], "mean": row[key]["f1"]})
        for key in ("exact", "category")
    ]
    return [row["matcher"], *figures, row["calls"], row["unusable"]]


def _interval(share: Mapping[str, Any]) -> str:
    return "-" if share["mean"] is None else f"{share['mean']:.2f} ({_text(share['low'])} to {_text(share['high'])})"


def _text(number: float | None) -> str:
    return "-" if number is None else f"{number:.2f}"


def as_text(report: Mapping[str, Any]) -> str:
    """Return report.json's text."""
    return json.dumps(report, indent=1, ensure_ascii=False) + "\n"
