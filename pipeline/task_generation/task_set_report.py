"""The report of generated tasks: a JSON file, or an HTML file in one piece that opens without a network."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.report import Facts, Folded, Heading, Plot, Table, Text, report_page
from pipeline.store import write_json, write_text

OPEN_CLICKED = """
const plot = document.querySelector(".plotly-graph-div");
plot && plot.on("plotly_click", event => {
  const task = document.getElementById("task-" + event.points[0].customdata[0]);
  if (task) { task.open = true; task.scrollIntoView({block: "center"}); }
});
"""
COLOURS = {None: "#777777", 1: "#2f6f9f", 2: "#5b7f3a", 3: "#b4532a"}
SYMBOLS = {None: "circle-open", 1: "circle", 2: "square", 3: "diamond"}
AXES = {"difficulty": "Difficulty as measured", "novelty": "Novelty"}


def write_report(data: Mapping[str, Any], path: Path) -> None:
    """Write the report of `task_set.report` as the file's suffix says. Raises StoreError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() == ".html":
        write_text(path, report_html(data))
    else:
        write_json(path, dict(data))


def report_html(data: Mapping[str, Any]) -> str:
    """Return the report as a page: the map of tasks, the set, each task to open, and what was dropped and why."""
    blocks: list[Any] = [_about_the_set(data)]
    if data["tasks"]:
        blocks += [
            Plot([task_map(data["tasks"])]),
            Text("A click opens the task below.", "note"),
            Heading("Kept tasks"),
        ]
        blocks += map(_task, data["tasks"])
    dropped = [
        (one["instruction"], str(one["level"] or ""), one["reason"]) for one in (*data["rejected"], *data["repeated"])
    ]
    blocks += [Heading("Tasks that were not kept")]
    # Largest rows of the table of tasks that were not kept
    blocks += [Table(("Task", "Level", "Reason"), dropped[:300])] if dropped else [Text("None.")]
    return report_page(f"Tasks of {data['project']}", blocks, OPEN_CLICKED)


def _about_the_set(data: Mapping[str, Any]) -> Facts:
    found, covered = data["set"], data["set"]["coverage"]
    objects, kinds = covered["objects"], covered["goal_kinds"]
    worth = data["worth"]
    rows = {
        "Kept": f"{found['kept']} of {data['count']} wanted; {found['tried']} tried",
        "Levels": ", ".join(f"{count} of level {level}" for level, count in found["levels"].items() if count),
        "Valid": f"{found['valid']} solved by the oracle in at least half of 8 new layouts",
        "Worth": _about_worth(worth) if worth["demonstrations"] else "not measured",
        "Mean distance": f"{found['mean_distance']:.2f} of 1",
        "Vendi score": f"{found['vendi_score']:.1f} effectively different tasks (Friedman and Dieng 2023)",
        "Objects": f"{objects['covered']} of {objects['of']}; unused: {', '.join(objects['unused']) or 'none'}",
        "Brought": ", ".join(covered["brought"]) or "none",
        "Kinds of goals": f"{kinds['covered']} of {kinds['of']}; unused: {', '.join(kinds['unused']) or 'none'}",
    }
    return Facts(rows)


def _about_worth(worth: Mapping[str, Any]) -> str:
    low, high = worth["kept_between"]
    return (
        f"success on new layouts of policies that imitate {worth['demonstrations']} demonstrations: kept from "
        f"{low:.0%} to {high:.0%}; of {worth['measured']} tasks {worth['too_hard']} were too hard and "
        f"{worth['learned_at_once']} learned at once"
    )


def _task(one: Mapping[str, Any]) -> Folded:
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
        "Proposed": f"by {one['source']}",
        "Program": _written_by(one),
    }
    return Folded(f"task-{one['id']}", one["instruction"], [Facts(facts)], _level_name(one["level"]).lower())


def _level_name(level: int | None) -> str:
    return f"Level {level}" if level else "Level not known"


def _written_by(one: Mapping[str, Any]) -> str:
    if not one["program"]:
        return "not kept"
    count = one["rounds"]
    return f"by {one['program']['source']}" + (f", in {count} round{'s' * (count > 1)}" if count else "")


def task_map(tasks: Sequence[Mapping[str, Any]], dark: bool = False) -> Any:
    """Return the scatter plot of tasks as `task_set.task_row` gives them; customdata holds each task's id."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for level in sorted({one["level"] for one in tasks}, key=lambda level: level or 0):
        own = [one for one in tasks if one["level"] == level]
        figure.add_scatter(
            x=[one["difficulty"] for one in own],
            y=[one["novelty"] for one in own],
            mode="markers",
            name=_level_name(level),
            customdata=[[one["id"], wrapped(one["instruction"])] for one in own],
            marker={"color": COLOURS[level], "symbol": SYMBOLS[level], "size": 11, "opacity": 0.85},
            hovertemplate="%{customdata[1]}<extra></extra>",
        )
    figure.update_layout(
        template="plotly_dark" if dark else "plotly_white", height=380, margin={"l": 60, "r": 20, "t": 20, "b": 50},
        xaxis_title=AXES["difficulty"], yaxis_title=AXES["novelty"], hovermode="closest",
        legend={"orientation": "h", "y": 1.08},
    )  # fmt: skip
    return figure


def wrapped(text: str) -> str:
    """Return a text in lines of a label."""
    lines, line = [], ""
    for word in text.split():
        # Letters of a line of a label
        if len(line) + len(word) > 60:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return "<br>".join([*lines, line])
