"""An open project on the server: what it is, what is being done with it, and what happened lately."""

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from pipeline.decisions import Decision, in_force
from pipeline.decisions import undone as undone_of
from pipeline.frame import FrameError, Support
from pipeline.models.calls import CallLog
from pipeline.models.live import Flight, Live
from pipeline.models.rules import RulesModel
from pipeline.project import STAGES, Project, Stage, safe_name
from pipeline.router import write
from pipeline.run import Progress, Services, advance, find_segments, matcher_of, run_stage
from pipeline.segmentation import Prompt, Segment, SegmentationError, rle
from pipeline.segmentation.finding import renumbered
from pipeline.segmentation.sam2 import Everything
from pipeline.simulation.kit import Scene
from pipeline.tasks import TaskError, arranged, task_to_json
from studio import spending
from studio.fits import fits
from studio.notices import sentence
from studio.replaying import Replaying, SessionError
from studio.segmenters import TITLES, Views
from studio.wording import told, words
from studio.work import StoppableSandbox, Work

T = TypeVar("T")
READY: Stage = "task"
"""How far a project is worked out by itself: up to the tasks that are proposed."""


TAKEN = ("world", "table", "floor", "gripper")
"""What no object can be called."""


class Session(Replaying):
    """One project with the work on it. May be called from any thread."""

    def __init__(self, project: Project, services: Services):
        super().__init__(project, services)
        self.token = secrets.token_urlsafe(24)
        self.last_used = time.monotonic()
        self.work: Work | None = None
        self.comparing: tuple[int, int] | None = None
        """Numbers of two rounds that are shown side by side."""
        self.rehearsing = ""
        """The instruction of the proposed task that is being tried."""
        self.quiet = threading.Event()
        """Ends what is done while nothing more urgent is."""
        self.unfit: TaskError | None = None
        """Why the words that were given last do not fit the scene."""
        self.lives: deque[Live] = deque(maxlen=8)
        """The calls of the work that was begun last, and of questions a person asked anew."""
        self.agreed = False
        """A person knows what asking the model about this project takes, and wants it."""
        self._flying: set[str] = set()
        self._views: Views | None = None

    # ------------------------------------------------------------------ deciding

    def decide(self, kind: str, /, **data: Any) -> None:
        """Records a person's decision and brings what depends on it up to date. Raises SessionError."""
        if kind == "rename":
            self._free(data["id"], safe_name(data["name"]))
        self._decided(self.project.decide, kind, **data)
        self._note(words(Decision(kind, data)), "person")

    def decide_all(self, decisions: Sequence[tuple[str, dict[str, Any]]], said: str) -> None:
        """Records several decisions, kind and data, that undo and redo take as one; `said` is what the log says."""
        together = {"together": secrets.token_hex(4)}
        made = [Decision(kind, data | together) for kind, data in decisions]

        def act() -> None:
            for one in made:
                self.project.decide(one.kind, **one.data)

        self._decided(act)
        self._note(said, "person")

    def _free(self, id: int, name: str) -> None:
        """Raises SessionError where an object may not be called that."""
        if name in TAKEN:
            raise SessionError(f'"{name}" stands for a part of every scene; choose another name.')
        scene = self.project.scene()
        names = {d.segment_id: d.name for d in self.project.descriptions() or ()}
        names |= {p.segment_id: p.name for p in scene.placements} if scene else {}
        names |= {d.data["id"]: safe_name(d.data["name"]) for d in self.project.decided("rename")}
        other = next((n for n, known in names.items() if known == name and n != id), None)
        if other is not None:
            raise SessionError(f'Object {other} is called "{name}" already; choose another name.')

    def undo(self) -> None:
        if undone := self._decided(_together, self.project.undo, lambda: in_force(self.project.decisions)):
            self._note(f"undone: {words(undone)}", "person")

    def redo(self) -> None:
        if redone := self._decided(_together, self.project.redo, lambda: undone_of(self.project.decisions)):
            self._note(f"redone: {words(redone)}", "person")

    def _decided(self, act: Callable[..., T], /, *arguments: Any, **data: Any) -> T:
        with self._changed:
            result = act(*arguments, **data)
            if self.project.segments() is not None and self._stale(READY):
                self.bring_up_to_date()
            return result

    def _stale(self, until: Stage) -> bool:
        stages = self.project.stages()
        return any(stages[stage] != "done" for stage in STAGES[: STAGES.index(until) + 1])

    # ------------------------------------------------------------------ working

    def bring_up_to_date(self) -> None:
        """Works out what is missing or stale, up to the proposed tasks."""
        self._begin(self._ready, READY)

    def use(self, services: Services, agreed: bool = False) -> None:
        """Works with these from now on; what another model makes differently is made anew."""
        self.services, self.agreed = services, agreed
        if self.project.segments() is not None:
            self.bring_up_to_date()

    def find(self, name: str, settings: Everything) -> None:
        """Finds everything anew with that segmenter, in the place of all masks; undo brings those back."""
        self._begin(lambda services: self._find(name, settings, services), READY)

    def agree(self) -> None:
        """Asks the model about this project, whatever it takes within the ceiling."""
        self.agreed = True
        self.bring_up_to_date()

    def asks_first(self) -> str:
        """What asking the model about this project takes, where a person has to agree to it first; else empty."""
        segments = self.kept("segments", "segments/masks.png", self.project.segments) or ()
        sentence = spending.first(
            getattr(self.services.model, "settings", None), len(segments), matcher_of(self.project, self.services)
        )
        if self.agreed or not sentence or any(not call.offline for call in self.calls.read()):
            return ""
        return sentence

    def _affordable(self, services: Services) -> Services:
        """With written rules in the model's place while nobody agreed to what it takes."""
        return replace(services, model=RulesModel()) if self.asks_first() else services

    def generate(self, text: str, mode: str) -> None:
        """Writes simulation and checks for a task, lets the router work on them, then solves every seed."""
        chosen = self.project.task()
        text = text.strip() or (chosen.instruction if chosen else "")
        if not text:
            raise TaskError("There is no task yet: choose a proposed one, or write what the robot shall do.")
        if self.project.segments() is None:
            raise TaskError("There is no twin yet to do a task with; wait until the scene is done.")
        self._begin(lambda services: self._generate(text, replace(services, mode=mode)), "solution")

    def solve(self, robot: str) -> None:
        """Tries the task on every seed again, with the floating gripper or the arm."""
        if not self.project.rounds():
            raise TaskError("There is no program to run yet; generate one first, in the step before.")
        self.decide("robot", name=robot)
        self._begin(lambda services: run_stage(self.project, services, "solution"), "solution")

    def run_from(self, parent: int, simulation: str, checks: str, mode: str, text: str = "") -> None:
        """Goes on from a person's edit of a round, its task in other words where given; the earlier rounds stay."""
        data = {"parent": parent, "simulation": simulation, "checks": checks}
        told = next((one.task for one in self.project.rounds() if one.number == parent), "") or text.strip()

        def work(services: Services) -> Iterator[Progress]:
            yield from self._mean(text.strip(), services)
            self.project.decide("fork", **(self._rewritten(services, data) if text.strip() != told else data))
            self._note(words(Decision("fork", data)), "person")
            yield from self._try(services)

        self._begin(lambda services: work(replace(services, mode=mode)), "solution")

    def _rewritten(self, services: Services, data: dict[str, Any]) -> dict[str, Any]:
        """The code for other words: the person's where they changed it, too, else written anew."""
        before = next(one.program for one in self.project.rounds() if one.number == data["parent"])
        kept = [data[side].split() == getattr(before, side).split() for side in ("simulation", "checks")]
        task = self.project.task()
        if not all(kept) or task is None:
            return data
        program = write(task, Scene.load(self.project.folder), services.model)
        return data | {"simulation": program.simulation, "checks": program.checks}

    def pin(self, number: int) -> None:
        """Takes that round for the task, whichever passed last, and solves its seeds."""
        self.project.decide("pin", round=number)
        self._note(words(Decision("pin", {"round": number})), "person")
        self._begin(lambda services: run_stage(self.project, services, "solution"), "solution")

    def aim_at(self, number: int, places: dict[str, tuple[float, float]]) -> None:
        """Goes on from a round with a person's own layout for a goal; the earlier rounds stay. Raises TaskError."""
        task = arranged(places)

        def work(services: Services) -> Iterator[Progress]:
            program = write(task, Scene.load(self.project.folder), services.model)
            self.project.decide("task", **task_to_json(task))
            self.project.decide("fork", parent=number, simulation=program.simulation, checks=program.checks)
            self._note(f"goal of round {number} laid out by hand", "person")
            yield from self._try(services)

        self._begin(work, "solution")
        self.leave()

    def stop(self) -> None:
        """Ends the work at its next step; what was finished is kept."""
        with self._changed:
            if self.work:
                self.work.stop()
                self._news()

    def _find(self, name: str, settings: Everything, services: Services) -> Iterator[Progress]:
        first = self.project.segments() is None  # finding was stopped before
        yield from advance(self.project, services, "segments")
        if not (first and name == services.segmenter.name):
            found = yield from find_segments(self.project, self.views.segmenter(name), settings)
            self._found(name, found)
        yield from self._ready(services)

    def _found(self, name: str, found: Sequence[Segment]) -> None:
        before = self.project.segments() or ()
        if not found:
            raise SegmentationError(f"{TITLES.get(name, name)} found nothing on the table; the masks stay as they are.")
        masks = [
            {"id": one.id, "mask": rle(one.mask), "score": one.score}
            for one in renumbered(found, before, next_id(self.project))
        ]
        self.project.decide("found", source=name, masks=masks)
        self._note(f"{len(masks)} masks found in the place of {len(before)}", "person")

    def _ready(self, services: Services) -> Iterator[Progress]:
        yield from advance(self.project, services, "segments")
        services = self._affordable(services)
        yield from advance(self.project, services, "scene")
        if not self.fits:
            yield Progress("scene", "comparing the twin with the photograph")
            self._kept["fits"] = (self._stamp("scene.json"), fits(self))
        yield from advance(self.project, services, READY)
        self.views.open(self.views.chosen)  # now, so that the first click is as quick as the others

    def _generate(self, text: str, services: Services) -> Iterator[Progress]:
        yield from advance(self.project, services, "scene")
        yield from self._mean(text, services)
        yield from self._try(services)

    def _mean(self, text: str, services: Services) -> Iterator[Progress]:
        """Takes the words for the task, where there are any and they are others."""
        text, task = self.project.in_present_names(text), self.project.task()
        if text and (task is None or task.instruction != text):
            proposed = {one.instruction: one for one in self.project.tasks() or ()}
            if text in proposed:
                self.project.decide("task", **task_to_json(proposed[text]))
            else:
                yield from run_stage(self.project, services, "task", text)

    def _try(self, services: Services) -> Iterator[Progress]:
        yield from run_stage(self.project, services, "rounds")
        yield from run_stage(self.project, services, "solution")

    def _begin(self, make: Callable[[Services], Iterator[Progress]], until: Stage) -> None:
        """Starts work in the place of what runs now; that one ends first."""

        def started(stop: threading.Event) -> Iterator[Progress]:
            if before:
                before.join()
            live = Live(stop, self.flown)
            self.lives.append(live)
            sandbox = StoppableSandbox(self.services.sandbox, stop)
            return make(self._affordable(replace(self.services, sandbox=sandbox, live=live)))  # type: ignore[arg-type]

        with self._changed:
            before = self.work
            if before:
                before.stop()
            self.quiet.set()
            self.quiet, self.unfit = threading.Event(), None
            self.work = Work(started, self._step, self._end, until)
            self.work.start()
            self._news()

    def _step(self, step: Progress) -> None:
        text = told(step)
        if self.log and self.log[-1].text == text:  # only farther with the same
            self._news()
        else:
            self._note(text)

    def _end(self, work: Work, error: BaseException | None, stopped: bool) -> None:
        with self._changed:
            if self.work is work:
                self.work = None
                if stopped:
                    self._note("stopped; what was finished is kept")
            if isinstance(error, TaskError):
                self.unfit = error
                self._note(sentence(error), "bad")
            elif error:
                self._notices.append(sentence(error))
                self._note(self._notices[-1], "bad")
            self._news()

    def follow(self, at_most: float = 8.0) -> Iterator[None]:
        """Yields whenever there is something new, at most so many times a second, until no work is left."""
        seen = -1
        while True:
            with self._changed:
                self._changed.wait_for(lambda shown=seen: self.version != shown or self.idle, timeout=2)
                over, fresh, seen = self.idle, self.version != seen, self.version
            if fresh or over:
                yield
            if over and self.idle:  # what was just shown may have asked for more
                return
            time.sleep(1 / at_most)

    @property
    def idle(self) -> bool:
        """Nothing is being worked out."""
        return self.work is None and not self._computing

    # ------------------------------------------------------------------ seeing

    @property
    def support(self) -> Support | None:
        """The table, or None where none was found; the stage "frame" says why."""
        try:
            return self.project.support
        except FrameError:
            return None

    @property
    def fits(self) -> dict[int, dict[str, Any]]:
        """How well each placed object agrees with the photograph, by segment id; empty until compared."""
        return self.kept("fits", "scene.json", dict)

    @property
    def views(self) -> Views:
        """The frame as the segmenters see it, and which of them answers."""
        frame = self.project.frame
        with self._changed:
            if self._views is None or self._views.frame is not frame:
                chosen = self._views.chosen if self._views else None
                self._views = Views(frame, self.services.segmenter, chosen=chosen)
            return self._views

    @cached_property
    def calls(self) -> CallLog:
        """What this project's models were asked."""
        return CallLog(self.project.folder / "trace.jsonl")

    def flown(self, flight: Flight) -> None:
        """Has the page told that a call began or ended; what arrives of its answer the page asks for itself."""
        with self._changed:
            flying = {one.span for one in self.flights()}
            if flying != self._flying:
                self._flying = flying
                self._news()

    def flights(self) -> tuple[Flight, ...]:
        """Calls that are being answered, oldest first."""
        return tuple(flight for live in tuple(self.lives) for flight in live.flights())

    def ask(self, prompt: Prompt) -> tuple[Segment, ...]:
        """The chosen segmenter's readings of a prompt, best first. Raises SegmentationError."""
        self.touch()
        return self.views.ask(prompt)

    def touch(self) -> None:
        self.last_used = time.monotonic()


def next_id(project: Project) -> int:
    """A number that no object of the project has had."""
    used = [one.id for one in (*(project.segments() or ()), *(project.automatic_segments() or ()))]
    for decision in project.decisions:
        data = decision.data
        used += [data["id"]] if decision.kind in ("mask", "delete_segment") else []
        used += [one["id"] for one in data["masks"]] if decision.kind == "found" else []
    return max(used, default=0) + 1


def _together(step: Callable[[], Decision | None], rest: Callable[[], Sequence[Decision]]) -> Decision | None:
    """Takes one step back or forth, and those that were decided together with it."""
    first = step()
    group = first.data.get("together") if first else None
    while group and (left := rest()) and left[-1].data.get("together") == group:
        step()
    return first
