"""Step 5: what the robot shall do, and the rounds of writing, running and repairing until it is simulated well."""

import difflib

import gradio as gr

from components.steps import RoundTimeline, TaskCards
from components.viewer import Viewer, view
from pipeline.simulation import Program
from studio.pages.scene import palette
from studio.session import Session, SessionError
from studio.shell import Shell
from studio.watching import Watching

MODES = [("Router: repair both", "route"), ("Repair simulation", "repair"), ("No repair", "none")]


def build(shell: Shell, watching: Watching) -> None:
    with gr.Row(elem_id="ask"):
        text = gr.Textbox(
            show_label=False, container=False, max_lines=1, placeholder="Write a task, or choose one below",
            elem_id="task-text", scale=6,
        )  # fmt: skip
        mode = gr.Dropdown(
            MODES, value="route", show_label=False, container=False, elem_id="mode", scale=0, min_width=168
        )
        generate = gr.Button("Generate", variant="primary", elem_id="generate", scale=1, min_width=96)
        stop = gr.Button("Stop", elem_id="stop", scale=1, min_width=70, interactive=False)
    with gr.Column(visible=False, elem_id="editing") as editing:
        number = gr.State(0)
        with gr.Row():
            heading = gr.HTML(padding=False)
            run = gr.Button("Run from here", variant="primary", size="sm", scale=0, min_width=120)
            close = gr.Button("Close", size="sm", scale=0, min_width=80)
        with gr.Row(elem_id="codes"):
            simulation = gr.Code(language="python", label="simulation.py", lines=12, max_lines=28)
            checks = gr.Code(language="python", label="checks.py", lines=12, max_lines=28)
    viewer = Viewer(height=340, min_height=0, elem_id="round")
    timeline = RoundTimeline()
    cards = TaskCards()

    shell.shows(cards, proposed)
    shell.shows(timeline, rounds)
    shell.shows(viewer, lambda session: played(session, watching))
    shell.told(timeline.play, lambda session, told: session.play(int(told["number"]), told.get("instant")))
    shell.told(timeline.leave, lambda session, _: session.leave())
    shell.shows(stop, lambda session: gr.Button(interactive=busy(session)))
    shell.shows(generate, lambda session: gr.Button(interactive=not busy(session)))
    shell.on(generate.click, lambda session, text, mode: session.generate(text, mode), [text, mode])
    shell.on(text.submit, lambda session, text, mode: session.generate(text, mode), [text, mode])
    shell.on(stop.click, lambda session: session.stop())
    shell.on(run.click, lambda session, *edited: session.run_from(*edited), [number, simulation, checks, mode])
    run.click(lambda: gr.Column(visible=False), outputs=editing, show_progress="hidden")
    close.click(lambda: gr.Column(visible=False), outputs=editing, show_progress="hidden")
    shell.answers(cards.pick, lambda session, told: str(told["instruction"]), [text])
    shell.answers(timeline.edit, edit, [editing, heading, number, simulation, checks])
    shell.greets(text, instruction)


def instruction(session: Session | None) -> str:
    """What the box says when a project is opened: the task it has, if it has one."""
    task = session.project.task() if session else None
    return task.instruction if task else ""


def busy(session: Session | None) -> bool:
    return bool(session and session.work)


def generating(session: Session) -> bool:
    return bool(session.work and session.work.until == "solution")


def proposed(session: Session | None) -> dict:
    if session is None:
        return {}
    tasks, chosen = session.project.tasks() or (), session.project.task()
    error = session.project.error("task")
    return {
        "tasks": [
            {
                "name": t.name,
                "instruction": t.instruction,
                "kind": t.kind,
                "goals": t.goals,
                "objects": t.objects,
                "source": t.source,
            }
            for t in tasks
        ],
        "chosen": chosen.instruction if chosen else "",
        "waiting": error or "Tasks are proposed here as soon as there is a twin.",
    }


def rounds(session: Session | None) -> dict:
    if session is None:
        return {}
    known = {one.number: one for one in session.kept("rounds", "rounds.jsonl", session.project.rounds)}
    return {
        "rounds": [_round(one, None if one.parent is None else known.get(one.parent)) for one in known.values()],
        "running": generating(session),
        "playing": session.playing.number if session.playing else None,
        "rolling": session.rolling,
    }


def played(session: Session | None, watching: Watching) -> dict:
    """The view of the round a person wants to see; away while there is none."""
    token = watching.round(session) if session else ""
    return view(token, palette=palette(session) if session and token else None) | {"away": not token}


def _round(one, parent) -> dict:
    report = one.report
    return {
        "number": one.number,
        "task": one.task,
        "parent": one.parent,
        "clean": report.clean,
        "checks": [
            {"name": c.name, "passed": c.passed, "message": c.message, "line": c.line, "instant": c.instant}
            for c in report.checks
        ],
        "reward": list(report.reward),
        "crash": report.crash,
        "timed_out": report.timed_out,
        "violation": report.violation,
        "route": one.route,
        "reason": one.reason,
        "seconds": one.seconds,
        "changes": changes(parent.program, one.program) if parent else {},
        "code": {"simulation.py": one.program.simulation, "checks.py": one.program.checks},
    }


def changes(before: Program, after: Program) -> dict[str, list]:
    """Per file that differs: rows of [kind, left number, left, right number, right] for the two columns of a diff."""
    pairs = {"simulation.py": (before.simulation, after.simulation), "checks.py": (before.checks, after.checks)}
    return {file: diff(left.splitlines(), right.splitlines()) for file, (left, right) in pairs.items() if left != right}


def diff(left: list[str], right: list[str], context: int = 3) -> list:
    """Only what changed and `context` lines around it; a row "gap" stands for what is left out."""
    rows: list = []
    for group in difflib.SequenceMatcher(None, left, right, autojunk=False).get_grouped_opcodes(context):
        rows.append(["gap", None, f"line {group[0][3] + 1}", None, ""])
        for kind, a0, a1, b0, b1 in group:
            for i in range(max(a1 - a0, b1 - b0)):
                a, b = (a0 + i if a0 + i < a1 else None), (b0 + i if b0 + i < b1 else None)
                same = "same" if kind == "equal" else "change"
                rows.append(
                    [
                        same,
                        None if a is None else a + 1,
                        None if a is None else left[a],
                        None if b is None else b + 1,
                        None if b is None else right[b],
                    ]
                )
    return rows


def edit(session: Session, told: dict) -> list:
    """Opens the code of a round for editing."""
    one = next((r for r in session.project.rounds() if r.number == told.get("number")), None)
    if one is None:
        raise SessionError("That round is not there any more; choose another.")
    heading = f'<h4 class="section">Edit round {one.number}: it stays as it is, what you run becomes a new round</h4>'
    return [gr.Column(visible=True), heading, one.number, one.program.simulation, one.program.checks]
