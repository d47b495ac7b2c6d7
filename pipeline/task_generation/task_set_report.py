"""The report of generated tasks: a JSON file, or an HTML file in one piece that opens without a network."""

import html
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.divergence.report import CONFIG, STYLE, html_table
from pipeline.store import write_json, write_text
from pipeline.task_generation.task_map import task_map

MAX_ROWS = 300
"""Of the table of tasks that were not kept."""
OWN_STYLE = """
details { border-bottom: 1px solid #ddd; padding: 4px 0 } summary { cursor: pointer }
summary .level { display: inline-block; min-width: 64px; color: #555 }
details dl { display: grid; grid-template-columns: 150px 1fr; gap: 2px 12px; margin: 8px 0 8px 16px }
dt { color: #555 } dd { margin: 0 }
"""
OPEN_CLICKED = """
const plot = document.querySelector(".plotly-graph-div");
plot && plot.on("plotly_click", event => {
  const task = document.getElementById("task-" + event.points[0].customdata[0]);
  if (task) { task.open = true; task.scrollIntoView({block: "center"}); }
});
"""


def write_report(data: Mapping[str, Any], path: Path) -> None:
    """Write the report of `task_set.report` as the file's suffix says. Raises StoreError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() == ".html":
        write_text(path, report_html(data))
    else:
        write_json(path, dict(data))


def report_html(data: Mapping[str, Any]) -> str:
    """Return the report as a page: the map of tasks, the set, each task to open, and what was dropped and why."""
    import plotly.io

    body = [f"<h1>Tasks of {html.escape(str(data['project']))}</h1>", _about_the_set(data)]
    if data["tasks"]:
        plot = plotly.io.to_html(task_map(data["tasks"]), full_html=False, include_plotlyjs=True, config=CONFIG)
        body += [plot, '<p class="note">A click opens the task below.</p>', "<h2>Kept tasks</h2>"]
        body += map(_task, data["tasks"])
    dropped = [
        (one["instruction"], one["level"] or "", one["reason"]) for one in (*data["rejected"], *data["repeated"])
    ]
    body += ["<h2>Tasks that were not kept</h2>"]
    body += [html_table(("Task", "Level", "Reason"), dropped[:MAX_ROWS])] if dropped else ["<p>None.</p>"]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Generated tasks</title>'
        f"<style>{STYLE}{OWN_STYLE}</style></head><body>{''.join(body)}<script>{OPEN_CLICKED}</script></body></html>"
    )


def _about_the_set(data: Mapping[str, Any]) -> str:
    found, covered = data["set"], data["set"]["coverage"]
    objects, kinds = covered["objects"], covered["goal_kinds"]
    worth = data["worth"]
    rows = [
        ("Kept", f"{found['kept']} of {data['count']} wanted; {found['tried']} tried"),
        ("Levels", ", ".join(f"{count} of level {level}" for level, count in found["levels"].items())),
        ("Valid", f"{found['valid']} solved by the oracle in at least half of 8 new layouts"),
        ("Worth", _about_worth(worth) if worth["demonstrations"] else "not measured"),
        ("Mean distance", f"{found['mean_distance']:.2f} of 1"),
        ("Vendi score", f"{found['vendi_score']:.1f} effectively different tasks (Friedman and Dieng 2023)"),
        ("Objects", f"{objects['covered']} of {objects['of']}; unused: {', '.join(objects['unused']) or 'none'}"),
        ("Brought", ", ".join(covered["brought"]) or "none"),
        ("Kinds of goals", f"{kinds['covered']} of {kinds['of']}; unused: {', '.join(kinds['unused']) or 'none'}"),
    ]
    return html_table(("The set", ""), rows)


def _about_worth(worth: Mapping[str, Any]) -> str:
    low, high = worth["kept_between"]
    return (
        f"success on new layouts of policies that imitate {worth['demonstrations']} demonstrations: kept from "
        f"{low:.0%} to {high:.0%}; of {worth['measured']} tasks {worth['too_hard']} were too hard and "
        f"{worth['learned_at_once']} learned at once"
    )


def _task(one: Mapping[str, Any]) -> str:
    demanded, measured, start = one["demands"] or {}, one["validity"], one["start"]
    worth = f"{one['worth']:.0%} of {one['worth_layouts']} new layouts" if one["worth"] is not None else ""
    facts = {
        "Goals": "; ".join(one["goals"]),
        "Oracle": f"{measured['solved']} of {measured['layouts']} new layouts, {measured['seconds']:.0f} s simulated",
        "Difficulty": f"{one['difficulty']:.2f}",
        "Learner": worth or f"not measured: {one['worth_reason']}",
        "Novelty": f"{one['novelty']:.2f}" + (f"; nearest: {one['nearest']}" if one["nearest"] else ""),
        "Demands": f"{demanded.get('carries', '?')} objects, {demanded.get('steps', '?')} steps, "
        f"{100 * demanded.get('slack', 0):.1f} cm slack, {demanded.get('bystanders', '?')} other objects",
        "Brought": ", ".join(start["brought"]) or "nothing",
        "Distractors": ", ".join(start["distractors"]) or "none",
        "Source": one["source"],
    }
    rows = "".join(f"<dt>{html.escape(key)}</dt><dd>{html.escape(text)}</dd>" for key, text in facts.items())
    head = f'<span class="level">level {one["level"]}</span>{html.escape(one["instruction"])}'
    return f'<details id="task-{html.escape(one["id"])}"><summary>{head}</summary><dl>{rows}</dl></details>'
