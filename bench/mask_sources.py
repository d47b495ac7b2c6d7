"""Scores of masks by source, and the difference between two runs with bootstrap intervals by source."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bench.mask_scores import FOUND_IOU
from bench.measurement import grouped_interval

if TYPE_CHECKING:
    from bench.masks import FrameMaskScores

Scores = dict[str, dict[str, dict[str, list[float]]]]
"""By column, then by "source frame object": IoU of the automatic mask, then after 1, 3 and 5 clicks."""
MEASURES = ("automatic: mean IoU", "automatic: found", "IoU after 1 click", "IoU after 3 clicks", "IoU after 5 clicks")


def group_values(values: Iterable[tuple[str, Sequence[float]]]) -> list[list[float]]:
    """Return the values of each group, from pairs of a group's name and some of its values."""
    groups: dict[str, list[float]] = {}
    for name, some in values:
        groups.setdefault(name, []).extend(some)
    return list(groups.values())


def interval_text(groups: Sequence[Sequence[float] | np.ndarray]) -> str:
    """Return the 95 % interval of the mean by bootstrap over groups; empty for fewer than three groups."""
    low, high = grouped_interval([[float(one) for one in group] for group in groups])
    return f"{low:.2f} to {high:.2f} ({len(groups)} sources)" if len(groups) > 2 else ""


def source_table(groups: "dict[str, list[FrameMaskScores]]") -> list[str]:
    """Return the lines of a Markdown table with a row for each source."""
    lines = ["| source | frames | objects | IoU / found | share | 1 / 3 / 5 clicks |", "| --- " * 6 + "|"]
    for scored in groups.values():
        for source in dict.fromkeys(one.labelled.source for one in scored):
            own = [one for one in scored if one.labelled.source == source]
            ious = [iou for one in own for iou in one.automatic.iou]
            complete = [one.automatic for one in own if one.labelled.complete]
            predicted = sum(one.predicted for one in complete)
            share = f"{sum(one.right for one in complete) / predicted:.2f}" if predicted else ""
            clicks = np.mean([[c.iou[i] for i in (0, 2, 4)] for one in own for c in one.all_clicks], 0)
            found = np.mean([iou >= FOUND_IOU for iou in ious])
            lines.append(
                f"| {source} | {len(own)} | {len(ious)} | {np.mean(ious):.3f} / {found:.2f} | {share} "
                f"| {' / '.join(f'{one:.2f}' for one in clicks)} |"
            )
    return lines


def object_scores(groups: "dict[str, list[FrameMaskScores]]") -> Scores:
    """Return the scores of each object, to be compared with those of another run."""
    scores: Scores = {}
    for name, scored in groups.items():
        for one in scored:
            rows = scores.setdefault(name, {}).setdefault(one.labelled.source, {})
            for label, iou, clicks in zip(one.labelled.truth, one.automatic.iou, one.all_clicks, strict=True):
                rows[f"{one.labelled.name} {label}"] = [iou, *(clicks.iou[i] for i in (0, 2, 4))]
    return scores


def comparison_table(before: Scores, after: Scores) -> list[str]:
    """Return the lines of a Markdown table: mean of both runs and their difference on the objects of both."""
    lines = ["| frames | measure | before | after | difference | 95 % interval by source |", "| --- " * 6 + "|"]
    for name in (one for one in after if one in before):
        pairs = [
            np.array([[before[name][source][key], values] for key, values in rows.items()
                      if key in before[name].get(source, {})]).reshape(-1, 2, 4)
            for source, rows in after[name].items()
        ]  # fmt: skip
        for index, measure in enumerate(MEASURES):
            values = [pair[..., max(0, index - 1)] for pair in pairs if len(pair)]
            values = [(one >= FOUND_IOU).astype(float) if index == 1 else one for one in values]
            if values:
                old, new = np.concatenate(values).mean(0)
                gain = interval_text([one[:, 1] - one[:, 0] for one in values])
                lines.append(f"| {name} | {measure} | {old:.3f} | {new:.3f} | {new - old:+.3f} | {gain} |")
    return lines
