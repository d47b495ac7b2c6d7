"""An open project: its log, cache, decisions, work and model calls, held together under one token."""

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.decisions import UNNAMED, Decision
from pipeline.errors import StudioError
from pipeline.frame import FrameError, Support
from pipeline.models.in_flight import InFlightCall, InFlightCalls, StopFlag
from pipeline.models.trace.call_log import Call, CallLog
from pipeline.object_words import segment_words
from pipeline.project import STAGES, Project, Stage
from pipeline.router import RunningRound
from pipeline.run import Progress, Services, allowed_services, is_current, is_made_with_others, may_send, run_stage
from pipeline.segmentation.sam2 import AutomaticSettings
from pipeline.tasks import Task, TaskError, arrangement_task
from studio.accounts.current_user import current_user
from studio.accounts.roles import Role, current_role, require
from studio.services.segmenter_choice import FrameSegmenters
from studio.sessions import project_work
from studio.sessions.cache import Cache
from studio.sessions.decision_recorder import DecisionRecorder
from studio.sessions.editor import Editor
from studio.sessions.event_log import EventLog, LogLine
from studio.sessions.project_learner import follow_decisions
from studio.sessions.project_work import PREPARED, EditedRound
from studio.sessions.recorded_frame import RecordedFrame
from studio.sessions.round_replay import RoundLayout, RoundReplay
from studio.sessions.watched_condition import WatchedCondition
from studio.sessions.wording import describe_decision
from studio.sessions.work import StoppableSandbox, WorkRunner
from studio.texts import t
from studio.web.background import TaskGroup
from studio.web.errors import RequestError
from studio.web.jobs import Job, Listing

if TYPE_CHECKING:
    from pipeline.task_generation.generate import Generated

PREPARED_STAGES = STAGES[: STAGES.index(PREPARED) + 1]
BUILT_TASKS = 20
"""Tasks of the task builder that are kept."""


class ModelCalls:
    """The trace of a project and its calls in flight. May be used from any thread."""

    def __init__(self, path: Path, log: EventLog):
        """
        Args:
            path: of the project's trace.
            log: is marked as changed whenever a call begins or ends.
        """
        self.path = path
        self._trace, self._log = CallLog(path), log
        self._watched: deque[InFlightCalls] = deque(maxlen=8)
        """The calls of recent work, and of questions that a person asked again."""
        self._span_ids: set[str] = set()

    def read(self) -> tuple[Call, ...]:
        """Return the recorded calls, oldest first."""
        return self._trace.read()

    def watch(self, stop: StopFlag | None = None) -> InFlightCalls:
        """Return a new collection of calls in flight for one piece of work; `stop` cancels them."""
        calls = InFlightCalls(stop, self._on_change)
        self._watched.append(calls)
        return calls

    def in_flight(self) -> tuple[InFlightCall, ...]:
        """Return the calls that are being answered, oldest first."""
        return tuple(call for calls in tuple(self._watched) for call in calls.calls())

    def _on_change(self, _: InFlightCall) -> None:
        """Mark the log only if a call began or ended; pages poll for the text of an answer themselves."""
        with self._log.changed:
            span_ids = {call.span_id for call in self.in_flight()}
            if span_ids != self._span_ids:
                self._span_ids = span_ids
                self._log.mark_changed()


class Session:
    """One open project. May be used from any thread."""

    def __init__(self, project: Project, services: Services, is_present: Callable[[str], bool] = lambda _: True):
        """`is_present` says whether a person has a page of the studio open."""
        self.project, self.services = project, services
        project.author = lambda: current_user.get() or UNNAMED
        self.token = secrets.token_urlsafe(24)
        self.last_used = time.monotonic()
        self.is_closed = False
        self.on_close: list[Callable[[], object]] = []
        """Called at close; each drops what another module keeps of this session."""
        names = segment_words(project)
        self.log = EventLog(
            LogLine(one.at, describe_decision(one, names), "person", "" if one.by == UNNAMED else one.by)
            # Earlier decisions that the log of a newly opened project begins with
            for one in project.decisions[-100:]
        )
        self.tasks = TaskGroup(self.log.mark_changed)
        """What runs beside the stage work."""
        self.cache = Cache(project.folder, self.log, self.tasks)
        self.calls = ModelCalls(project.folder / "trace.jsonl", self.log)
        self.editor = Editor(is_present)
        self.decisions = DecisionRecorder(project, self.log, self._prepare_if_outdated, self.editor)
        self.replay = RoundReplay(project, lambda: self.services.sandbox, self.cache, self.log)
        stages = Listing("stages", lambda name=project.name: t("Stages of {project}", project=name), project.folder)
        self.runner = WorkRunner(self.log, self.stop_rehearsals, stages)
        self.compared: tuple[RoundLayout, RoundLayout] | None = None
        """The two rounds, or the two layouts of one, that are shown side by side."""
        self.watched: WatchedCondition | None = None
        """The condition of a variation study that is shown in place of a round."""
        self.recorded: RecordedFrame | None = None
        """The recording that the frame was taken of, while the studio has it."""
        self.shows_track = False
        """Whether the Scene page shows the twin as it follows a recording."""
        self.charts_rounds = False
        """Whether reward and checks by round are plotted."""
        self.repair_mode = ""
        """Mode of repair that a person chose on the Task page; empty before that."""
        self.built_tasks: dict[str, Task] = {}
        """The newest tasks of the task builder, by the instruction that stands for each in the text field."""
        self.rehearsals: Job[None] | None = None
        """The newest trials of proposed tasks; their message is the instruction of the one that is tried."""
        self.rehearsals_ended = 0
        """How often rehearsals ended without an error."""
        self.generation: Job[Generated] | None = None
        """The newest generation of many tasks; its result is its progress."""
        self._segmenters: FrameSegmenters | None = None
        self._is_prepared = False
        self._sends = may_send(project, services.model, services.send)
        """Whether the project may be sent to the model, as it was when a person decided last."""
        self._renewals = self._renewed = 0
        """How often a person wanted what another model answered to be asked again, and how many of these are done."""

    # ------------------------------------------------------------------ work on the stages

    def prepare(self, renew: bool = False) -> None:
        """Compute what is missing or out of date, up to the proposed tasks, if this process may write the project.

        What another model answered is asked again only with `renew`: a model that is chosen changes no finished work.
        While only people who look have it open, that waits for one who works.
        """
        self._is_prepared = current_role.get() >= Role.WORK
        if self._is_prepared and not self.is_closed and self.may_write():
            self._renewals += renew
            self._start(self._prepared, PREPARED)

    def _prepared(self, services: Services) -> Iterator[Progress]:
        wanted = self._renewals
        yield from project_work.prepare(self, services, wanted > self._renewed)
        self._renewed = wanted

    def use(self, services: Services, renew: bool) -> None:
        """Work with these services from now on; with `renew`, recompute what they make differently."""
        self.services = services
        self._sends = may_send(self.project, services.model, services.send)
        if renew and self.project.segments() is not None:
            self.prepare(renew)

    @property
    def is_answered_by_another_model(self) -> bool:
        """Whether results up to the proposed tasks are done, and those of another model than the one in use."""
        return any(is_made_with_others(self.project, self.services, stage) for stage in PREPARED_STAGES)

    def replace_masks(self, segmenter: str, settings: AutomaticSettings) -> None:
        """Segment the whole frame with the named segmenter and replace every mask; undo restores the former ones."""
        self._start(lambda services: project_work.replace_masks(self, segmenter, settings, services), PREPARED)

    def generate(self, text: str, mode: str) -> None:
        """Write a program for the task and let the router repair it, then solve every seed. Raises TaskError."""
        task = self.project.task()
        text = text.strip() or (task.instruction if task else "")
        if not text:
            raise TaskError("There is no task yet: choose a proposed one, or write one.")
        if self.project.segments() is None:
            raise TaskError("There is no twin yet to do a task with; wait until the scene is done.")
        self.compared = self.watched = None
        self.replay.follow_anew()
        self._start(
            lambda services: project_work.generate(self, text, project_work.with_mode(services, mode)), "solution"
        )

    def keep_built(self, task: Task) -> None:
        """Keep a task of the task builder, so that its goals, not its words, are what `generate` gets."""
        self.built_tasks.pop(task.instruction, None)
        self.built_tasks[task.instruction] = task
        for oldest in list(self.built_tasks)[:-BUILT_TASKS]:
            self.built_tasks.pop(oldest, None)

    def continue_from(self, edit: EditedRound, mode: str) -> None:
        """Continue from a person's edit of a round; the earlier rounds stay."""
        self.compared = self.watched = None
        self.replay.follow()
        self._start(
            lambda services: project_work.continue_from(self, edit, project_work.with_mode(services, mode)), "solution"
        )

    def continue_with_layout(self, number: int, positions: dict[str, tuple[float, float]]) -> None:
        """Continue from a round with a goal that a person arranged: world x and y in m by name. Raises TaskError."""
        task = arrangement_task(positions)
        self.compared = self.watched = None
        self.replay.follow()
        self._start(lambda services: project_work.continue_with_layout(self, number, task, services), "solution")

    def solve(self, robot: str) -> None:
        """Solve every seed again with this robot. Raises TaskError."""
        if not self.project.rounds():
            raise TaskError("There is no program to run yet; generate one in the step before.")
        self.decisions.record("robot", name=robot)
        self._start(self._solution, "solution")

    def pin(self, number: int) -> None:
        """Take that round as the task's program, whichever passed last, and solve its seeds."""
        self.project.decide("pin", round=number)
        self.log.add(describe_decision(Decision("pin", {"round": number})), "person")
        self._start(self._solution, "solution")

    def _solution(self, services: Services) -> Iterator[Progress]:
        return run_stage(self.project, services, "solution")

    def _start(self, make_steps: Callable[[Services], Iterator[Progress]], until: Stage) -> None:
        """Start work in place of the current one, with services that the stop of the work cancels.

        Raises StudioError if the project, or the current person, can only look.
        """
        require(Role.WORK)
        self.project.begin_writing()
        user = current_user.get()

        def steps(stop: threading.Event) -> Iterator[Progress]:
            current_user.set(user)  # of the thread of this work
            calls = self.calls.watch(stop)
            sandbox = StoppableSandbox(self.services.sandbox, stop)
            services = replace(
                self.services,
                sandbox=sandbox,
                live=calls,
                on_rollout=self.replay.rolled_out,  # type: ignore[arg-type]
            )
            return make_steps(allowed_services(self.project, services))

        self.runner.start(steps, until)

    def _prepare_if_outdated(self) -> None:
        follow_decisions(self.project)
        if self.project.segments() is None:
            return
        sends, self._sends = self._sends, may_send(self.project, self.services.model, self.services.send)
        renew = sends != self._sends  # whoever lets a project be sent, or takes that back, asks for it
        if not all(is_current(self.project, self.services, stage, renew) for stage in PREPARED_STAGES):
            self.prepare(renew)

    # ------------------------------------------------------------------ work beside it

    def make_job(self, name: str, work: Callable[[Job[Any]], Any]) -> Job[Any]:
        """Return a job of this project, not yet started. Its error goes to the log."""
        project = self.project.name
        listing = Listing("tasks", lambda: t("Tasks of {project}", project=project), self.project.folder)
        return Job(name, work, on_end=self._end_job, listing=listing)

    def stop_rehearsals(self) -> None:
        if self.rehearsals:
            self.rehearsals.stop()

    def _end_job(self, job: Job[Any]) -> None:
        if job.error and job.state == "failed":
            self.log.report_once(job.error)
        self.log.mark_changed()

    # ------------------------------------------------------------------ one writer

    def may_write(self) -> bool:
        """Become the project's writer if nobody else is; else report why it can only be looked at."""
        if self.project.is_writer:
            return True
        try:
            self.project.begin_writing()
        except StudioError as error:
            self.project.read_again()
            self.log.report_once(error)
            return False
        for line in self.project.warnings:
            self.log.report(StudioError(line))
        return True

    def welcome(self) -> None:
        """Note that the current person opened the project, which was open."""
        self.touch()
        if current_role.get() >= Role.WORK:
            self.editor.claim()
            self.may_write()  # the process that kept it from being written may have ended
            if not self._is_prepared:
                self.prepare()

    def take_over(self) -> None:
        """Let the current person edit in place of who does."""
        if self.editor.take_over() != current_user.get():
            self.log.add("took over the project", "person")

    def leave(self) -> None:
        """Note that the current person went to another project or to the gallery."""
        self.editor.leave()
        self.log.mark_changed()

    def end_work(self, seconds: float) -> None:
        """Stop what runs, and wait until it has ended. Raises RequestError if it still runs after that many seconds."""
        end = time.monotonic() + seconds
        for job in self._jobs:
            job.stop()
        self.runner.stop()
        while not self.idle:
            if time.monotonic() > end:
                raise RequestError("Its work has not ended yet; try again in a minute.")
            time.sleep(0.02)

    def close(self) -> None:
        """Let other processes write the project; it is opened in another session then."""
        self.is_closed = True
        for end in self.on_close:
            end()
        self.project.close()

    # ------------------------------------------------------------------ state

    @property
    def judged_now(self) -> RunningRound | None:
        """The round that was rolled out and is still being judged; None if there is none."""
        running = self.replay.running
        if running is None or self.runner.current is None:
            return None
        is_judged = any(one.number == running.number for one in self.project.rounds())
        return None if is_judged else running

    @property
    def allowed_services(self) -> Services:
        """The services, with the offline rules in place of a model that the project may not be sent to."""
        return allowed_services(self.project, self.services)

    @property
    def idle(self) -> bool:
        """Whether nothing is being computed."""
        return self.runner.current is None and not self.tasks and not any(job.is_active for job in self._jobs)

    @property
    def is_arranged(self) -> bool:
        """Whether a person is arranging a layout, of which only its view knows."""
        return bool(self.replay.request and self.replay.request.arranging)

    @property
    def _jobs(self) -> list[Job[Any]]:
        return [job for job in (self.rehearsals, self.generation) if job]

    @property
    def rehearsing(self) -> str:
        """Instruction of the proposed task that is being tried; empty while none is."""
        return self.rehearsals.message if self.rehearsals and self.rehearsals.is_active else ""

    @property
    def support(self) -> Support | None:
        """The table, or None if none was found; the stage "frame" says why."""
        try:
            return self.project.support
        except FrameError:
            return None

    @property
    def segmenters(self) -> FrameSegmenters:
        """The segmenters of the frame, and which one answers clicks. New ones after a change of the camera."""
        frame = self.project.frame
        with self.log.changed:
            if self._segmenters is None or self._segmenters.frame is not frame:
                chosen = self._segmenters.chosen if self._segmenters else None
                self._segmenters = FrameSegmenters(frame, self.services.segmenter, chosen=chosen)
            return self._segmenters

    def touch(self) -> None:
        """Note that the project is in use."""
        self.last_used = time.monotonic()
