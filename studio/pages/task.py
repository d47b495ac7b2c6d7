"""Step 5: what the robot shall do, and the rounds of writing, running and repairing until it is simulated well."""

from typing import Any

import gradio as gr

from components.steps import AskedBack, RoundTimeline, TaskCards
from components.viewer import Viewer, view
from studio import proposals, rounds
from studio.pages.scene import names
from studio.session import Session
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
    asked = AskedBack()
    editing = Editing()
    viewer = Viewer(height=340, min_height=0, elem_id="round")
    timeline = RoundTimeline()
    cards = TaskCards()

    shell.shows(cards, proposals.shown)
    shell.shows(asked, unfit)
    shell.shows(timeline, rounds.shown)
    shell.shows(viewer, lambda session: played(session, watching))
    shell.shows(stop, lambda session: gr.Button(interactive=busy(session)))
    shell.shows(generate, lambda session: gr.Button(interactive=not busy(session)))
    shell.told(timeline.play, lambda session, told: session.play(int(told["number"]), told.get("instant")))
    shell.told(timeline.leave, lambda session, _: session.leave())
    shell.told(timeline.arrange, lambda session, told: session.arrange(int(told["number"])))
    shell.told(timeline.aim, lambda session, told: session.aim_at(int(told["number"]), watching.places(session)))
    shell.told(timeline.compare, lambda session, told: rounds.compare(session, told.get("a"), told.get("b")))
    shell.told(timeline.pin, lambda session, told: rounds.pin(session, told.get("number")))
    shell.told(cards.rehearse, lambda session, _: proposals.try_out(session))
    shell.told(cards.hush, lambda session, _: session.quiet.set())
    shell.on(generate.click, lambda session, text, mode: session.generate(text, mode), [text, mode])
    shell.on(text.submit, lambda session, text, mode: session.generate(text, mode), [text, mode])
    shell.on(stop.click, lambda session: session.stop())
    shell.on(
        editing.run.click, lambda session, *edited: session.run_from(*edited), [*editing.edited, mode, editing.task]
    )
    shell.answers(cards.pick, lambda session, told: str(told["instruction"]), [text])
    shell.answers(asked.pick, lambda session, told: str(told["instruction"]), [text])
    shell.answers(timeline.edit, edit, editing.opened)
    shell.greets(text, instruction)


class Editing:
    """The task and the code of a round, for a person to change and go on from."""

    def __init__(self):
        with gr.Column(visible=False, elem_id="editing") as self.place:
            self.number = gr.State(0)
            with gr.Row():
                self.heading = gr.HTML(padding=False)
                self.run = gr.Button("Run from here", variant="primary", size="sm", scale=0, min_width=120)
                close = gr.Button("Close", size="sm", scale=0, min_width=80)
            self.task = gr.Textbox(show_label=False, container=False, max_lines=2, elem_id="edited-task")
            with gr.Row(elem_id="codes"):
                self.simulation = gr.Code(language="python", label="simulation.py", lines=12, max_lines=28)
                self.checks = gr.Code(language="python", label="checks.py", lines=12, max_lines=28)
        for button in (self.run, close):
            button.click(lambda: gr.Column(visible=False), outputs=self.place, show_progress="hidden")
        self.edited: list[Any] = [self.number, self.simulation, self.checks]
        self.opened: list[Any] = [self.place, self.heading, self.number, self.task, self.simulation, self.checks]


def edit(session: Session, told: dict) -> list:
    """Opens a round for editing."""
    one = rounds.find(session, told.get("number"))
    heading = (
        f'<h4 class="section">Go on from round {one.number}: it stays as it is, what you run becomes a new branch</h4>'
    )
    return [gr.Column(visible=True), heading, one.number, one.task, one.program.simulation, one.program.checks]


def instruction(session: Session | None) -> str:
    """What the box says when a project is opened: the task it has, if it has one."""
    task = session.project.task() if session else None
    return task.instruction if task else ""


def busy(session: Session | None) -> bool:
    return bool(session and session.work)


def unfit(session: Session | None) -> dict:
    """What the person is asked back: why the words do not fit, and answers to click: what may have been meant, or else
    what could be done here."""
    if session is None or session.unfit is None:
        return {}
    error, proposed = session.unfit, session.project.tasks() or ()
    works = error.works or ([] if error.instead else [task.instruction for task in proposed[:3]])
    return {"reason": error.reason, "instead": error.instead, "works": list(works)}


def played(session: Session | None, watching: Watching) -> dict:
    """The view of the round a person wants to see; away while there is none."""
    token = watching.round(session) if session else ""
    return view(token, **(names(session) if session and token else {})) | {"away": not token}
