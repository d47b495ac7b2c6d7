"""Step 5: the task, and the rounds in which its program is written, run and repaired."""

from collections.abc import Mapping
from typing import Any

import gradio as gr

from components.steps import ConditionTable, RoundTimeline, TaskBuilder, TaskCards, TaskClarification, TaskMap
from components.viewer import Viewer, viewer_value
from pipeline.errors import StudioError
from pipeline.object_words import object_words
from studio.accounts.roles import Role
from studio.pages import facts
from studio.pages.page_shell import Shell
from studio.scene.fit_table import viewer_labels
from studio.scene.viewer_content import ViewerContent, with_twin
from studio.sessions.project_work import EditedRound
from studio.sessions.session import Session
from studio.task import (
    failed_conditions,
    failure_causes,
    generated_tasks,
    proposals,
    round_comparison,
    round_records,
    task_building,
)
from studio.task.round_chart import round_chart, set_chart
from studio.texts import t
from studio.web.page_guard import needs

MODES = [("Router: repair both", "route"), ("Repair simulation", "repair"), ("No repair", "none")]


def build(shell: Shell, content: ViewerContent) -> None:
    text, mode, generate, stop = _ask_row()
    clarification = TaskClarification()
    builder = TaskBuilder(answer=task_building.endpoint(shell.sessions))
    editor = RoundEditor()
    with gr.Row(elem_id="viewers"):
        viewer = Viewer(height=340, min_height=0, elem_id="round")
        beside = Viewer(height=340, min_height=0, elem_id="beside")
    timeline = RoundTimeline()
    with gr.Column(visible=False, elem_id="round-chart") as chart_box:
        chart = gr.Plot(show_label=False, container=False)
    conditions = ConditionTable()
    cards = TaskCards()
    many = TaskMap()

    rounds = [*facts.OBJECTS, facts.work, facts.playback]
    shell.show(cards, proposals.task_cards, [*facts.OBJECTS, facts.work])
    shell.show(many, generated_tasks.map_record, [facts.results, facts.work])
    shell.show(clarification, proposals.clarification, [facts.results, facts.work])
    shell.show(builder, task_building.builder_record, [facts.results, facts.work, facts.playback])
    shell.show(timeline, round_records.timeline_record, rounds)
    shell.show(conditions, failed_conditions.condition_record, [facts.results, facts.playback])
    plot = [facts.results, facts.playback]
    shell.show(chart_box, lambda session: gr.Column(visible=round_chart(session) is not None), plot)
    shell.show(chart, round_chart, plot)
    shell.show(viewer, lambda session: replay(session, content), [*rounds, content.views])
    shell.show(beside, lambda session: compared(session, content), [*rounds, content.views])
    shell.show(stop, lambda session: gr.Button(interactive=is_working(session)), [facts.work])
    shell.show(generate, lambda session: gr.Button(interactive=not is_working(session)), [facts.work])
    shell.on_message(timeline.play, show_round, Role.VISIT)
    shell.on_message(timeline.close_replay, lambda session, _: session.replay.hide(), Role.VISIT)
    shell.on_message(timeline.arrange_goal, lambda session, message: session.replay.arrange(int(message["number"])))
    shell.on_message(timeline.use_as_goal, lambda session, message: use_as_goal(session, content, message))
    shell.on_message(timeline.compare, round_comparison.compare, Role.VISIT)
    shell.on_message(conditions.watch, failed_conditions.watch, Role.VISIT)
    shell.on_message(timeline.pin, round_records.pin)
    shell.on_message(timeline.autoplay, round_records.set_plays, Role.VISIT)
    shell.on_message(timeline.chart, set_chart, Role.VISIT)
    shell.on_message(timeline.remedy, failure_causes.try_remedy)
    shell.on_message(cards.start_trials, lambda session, _: proposals.rehearse_proposals(session))
    shell.on_message(cards.stop_trials, lambda session, _: session.stop_rehearsals())
    shell.on_message(many.generate, generated_tasks.generate_tasks)
    shell.on_message(many.bring, generated_tasks.bring_objects)
    shell.on_message(many.stop, lambda session, _: generated_tasks.stop_generation(session))
    shell.on(generate.click, lambda session, text, mode: session.generate(text, mode), [text, mode])
    shell.on(text.submit, lambda session, text, mode: session.generate(text, mode), [text, mode])
    shell.on(stop.click, lambda session: session.runner.stop())
    shell.on(editor.run.click, run_edited_round, [*editor.edited, mode])
    shell.reply_on(timeline.edit, edit_round, editor.opened)
    shell.show_on_open(text, instruction)
    shell.show_on_open(mode, repair_mode)
    shell.on(mode.input, set_repair_mode, [mode])


def _ask_row() -> tuple[gr.Textbox, gr.Dropdown, gr.Button, gr.Button]:
    """Return the fields of the task and of the mode of repair, and the buttons that begin and stop the rounds."""
    with gr.Row(elem_id="ask"):
        text = gr.Textbox(
            label="Task", show_label=False, container=False, max_lines=1, elem_id="task-text", scale=6,
            placeholder="Write a task, or choose one below",
        )  # fmt: skip
        mode = gr.Dropdown(
            MODES, value="route", label="Repair", show_label=False, container=False, elem_id="mode", scale=0,
            min_width=168,
        )  # fmt: skip
        generate = gr.Button("Generate", variant="primary", elem_id="generate", scale=1, min_width=96)
        stop = gr.Button("Stop", elem_id="stop", scale=1, min_width=70, interactive=False)
    return text, mode, generate, stop


class RoundEditor:
    """Widgets to edit the task and the code of a round and to continue from it."""

    def __init__(self):
        with gr.Column(visible=False, elem_id="editing") as self.column:
            self.number = gr.Number(0, visible=False, elem_id="edited-round")
            with gr.Row():
                self.heading = gr.HTML(padding=False)
                self.run = gr.Button(
                    "Run from here", variant="primary", size="sm", scale=0, min_width=120, elem_id="run-edited"
                )
                close = gr.Button("Close", size="sm", scale=0, min_width=80)
            self.task = gr.Textbox(label="Task", show_label=False, container=False, max_lines=2, elem_id="edited-task")
            with gr.Row(elem_id="codes"):
                self.simulation = gr.Code(language="python", label="simulation.py", lines=12, max_lines=28)
                self.checks = gr.Code(language="python", label="checks.py", lines=12, max_lines=28)
        for button in (self.run, close):
            hide = needs(Role.VISIT, lambda: gr.Column(visible=False))
            button.click(hide, outputs=self.column, show_progress="hidden")
        self.edited: list[Any] = [self.number, self.simulation, self.checks, self.task]
        """In the order of the fields of EditedRound."""
        self.opened: list[Any] = [self.column, self.heading, self.number, self.task, self.simulation, self.checks]
        """In the order of what `edit_round` returns."""


def edit_round(session: Session, message: Mapping[str, Any]) -> list:
    """Return the editor's widgets for the round {number}."""
    edited = round_records.find_round(session, message.get("number"))
    number, program = edited.number, edited.program
    title = t("Continue from round {number} in a new branch; round {number} stays", number=number)
    heading = f'<h3 class="section">{title} · {t("Esc, then Tab, leaves the code")}</h3>'
    task = object_words(session.project).with_display_names(edited.task)
    return [gr.Column(visible=True), heading, number, task, program.simulation, program.checks]


def run_edited_round(session: Session, *values: Any) -> None:
    """Continue from the edited round; the values are those of `RoundEditor.edited`, then the mode."""
    *edited, mode = values
    session.continue_from(EditedRound(*edited), mode)


def show_round(session: Session, message: Mapping[str, Any]) -> None:
    session.compared = session.watched = None
    session.replay.show(int(message["number"]), message.get("instant"))


def use_as_goal(session: Session, content: ViewerContent, message: Mapping[str, Any]) -> None:
    """Continue from the round {number} with the layout that a person arranged in the viewer as the goal."""
    session.continue_with_layout(int(message["number"]), content.dragged_positions(session))


def instruction(session: Session | None) -> str:
    """Return the instruction of the project's task in the names that a person gave, or "" if it has none."""
    task = session.project.task() if session else None
    return object_words(session.project).with_display_names(task.instruction) if session and task else ""


def set_repair_mode(session: Session, mode: str) -> None:
    """Keep the chosen mode of repair for when the page is loaded again."""
    session.repair_mode = mode


def repair_mode(session: Session | None) -> str:
    """Return the mode of repair that was chosen last, else the one that the rounds were made with."""
    made_with = (session.project.made_with("rounds") if session else None) or ""
    known = {mode for _, mode in MODES}
    chosen = (session.repair_mode if session else "") or made_with.rpartition(", ")[2]
    return chosen if chosen in known else "route"


def is_working(session: Session | None) -> bool:
    return bool(session and session.runner.current)


def replay(session: Session | None, content: ViewerContent) -> dict:
    """Return the Viewer's value for the round that is replayed, or for the left one of two that are compared."""
    if session is None:
        return _round_value(None, "")
    if session.watched:
        return _condition_value(session, content)
    if left := content.pair(session)[0]:
        return _compared_value(session, left, 0)
    request, judged_now = session.replay.request, session.judged_now
    token, twin = content.round(session), content.twin(session)
    value = _round_value(session, token or twin) | {"token": token, "hidden": not token, "builder": twin}
    if request is None or session.replay.rollout() is None:
        return value
    is_judged = judged_now is None or judged_now.number != request.number
    # Seconds for which the hold at an earlier round's failed check may delay a round that was judged, or still is
    wait = (0.0 if is_judged else 6.0) if request.automatic else None
    caption = t("Round {number}" if is_judged else "Round {number}, being judged", number=request.number)
    shown = next((one.twin for one in session.project.rounds() if one.number == request.number), "")
    return value | {"caption": with_twin(session, caption, shown), "wait": wait}


def _condition_value(session: Session, content: ViewerContent) -> dict:
    """Return the Viewer's value for the condition that a person watches; the round's if it cannot be shown."""
    watched = session.watched
    assert watched is not None
    try:
        token = content.condition(session)
    except StudioError as error:
        session.watched = None
        session.log.report_once(error)
        return _round_value(session, "")
    return _round_value(session, token) | {"caption": t("Condition {id}", id=watched.id)}


def compared(session: Session | None, content: ViewerContent) -> dict:
    """Return the Viewer's value for the right one of two rounds that are compared."""
    right = content.pair(session)[1] if session else ""
    return _compared_value(session, right, 1) if session and right else _round_value(session, "")


def _compared_value(session: Session, token: str, side: int) -> dict:
    """Return the Viewer's value for one of two rollouts that are compared; both move their cameras together."""
    titles = round_comparison.compared_titles(session.compared) if session.compared else ("", "")
    return _round_value(session, token) | {"cameras": "rounds", "caption": titles[side]}


def _round_value(session: Session | None, token: str) -> dict:
    """Return a Viewer's value, hidden without a token."""
    labels = viewer_labels(session) if session and token else {}
    task = session.project.task() if session else None
    about = {"about": list(task.objects)} if task else {}
    return viewer_value(token, **labels) | about | {"hidden": not token, "loads_with": "#ask, .task-cards"}
