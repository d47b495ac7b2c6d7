"""The loop: propose a task, measure it, keep or drop it, and tell the next proposals what was learned (RoboGen)."""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from pipeline.assets import Library
from pipeline.models import Model, StageCancelled
from pipeline.models.model import has_language
from pipeline.planner import PlannerModel
from pipeline.scene.scene_files import read_scene
from pipeline.simulation import kit
from pipeline.simulation.sandbox.runner import ProgramRunner
from pipeline.store import digest
from pipeline.task_generation.budget import MAX_DEMONSTRATIONS, NOT_ASKED, LearnerBudget
from pipeline.task_generation.candidates import SceneFacts, TaskCandidate, candidates
from pipeline.task_generation.curriculum import WORTH, TriedOutcome, choose, measured_so_far, next_level
from pipeline.task_generation.demands import LEVELS
from pipeline.task_generation.programs import ProgramWriter, WrittenProgram
from pipeline.task_generation.similarity import profile_of, repeats, similarity
from pipeline.task_generation.starts import StartMaker
from pipeline.task_generation.task_files import (
    KEPT,
    REJECTED,
    REPEATED,
    UNUSABLE,
    TaskGenerationError,
    TriedTask,
    append_tried,
    read_tried,
    starts_folder,
)
from pipeline.task_generation.validity import Validity, measure_validity
from pipeline.tasks import Task

MAX_COUNT = 1000
MAX_FAILED = 3
"""Questions in a row without an answer, after which the model is asked nothing further in the run."""
RULES_WRITE = "the rules write what they can"


@dataclass(frozen=True)
class SolvedTask:
    """A task that was solved before, with the categories of its objects by name."""

    task: Task
    categories: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class GenerationInputs:
    """What tasks are generated from."""

    project_dir: Path
    library: Library | None
    """Assets that may be brought; None to bring none."""
    model: Model
    sandbox: ProgramRunner
    facts: SceneFacts
    robot: str = "gripper"
    solved: tuple[SolvedTask, ...] = ()
    """What new tasks should differ from."""
    writer: ProgramWriter = field(default_factory=lambda: ProgramWriter(PlannerModel()))


@dataclass(frozen=True)
class GenerationOptions:
    """How many tasks are generated, and which."""

    count: int
    level: int | None = None
    """1, 2 or 3; None to let the curriculum choose."""
    seed: int = 0
    demonstrations: int = 0
    """Demonstrations of the oracle that a learner imitates to measure a task's worth; 0 to measure none."""


@dataclass(frozen=True, eq=False)
class Generated:
    """Progress: one more task was tried, or is being tried."""

    kept: int
    wanted: int
    message: str
    tried: TriedTask | None = None
    """None while it is measured."""
    is_notice: bool = False
    """Whether the message says what did not work as asked, and is for a person to keep."""


@dataclass(eq=False)
class _Pool:
    """Candidates of one level that were not tried yet."""

    starts: int = 0
    taken: int = 0
    left: list[TaskCandidate] = field(default_factory=list)


def run_id(inputs: GenerationInputs, options: GenerationOptions) -> str:
    """Return a hash of all that the tried tasks depend on, but for how many are wanted."""
    scene = (Path(inputs.project_dir) / "scene.json").read_text("utf-8")
    library = inputs.library.digest if inputs.library is not None else ""
    writers = [inputs.writer.model.name] if has_language(inputs.writer.model) else []  # the rules wrote before, too
    about = [options.level, options.seed, options.demonstrations, inputs.model.name, inputs.robot, *writers]
    return digest("generated tasks", scene, library, *about)[:12]


def generate(
    inputs: GenerationInputs, options: GenerationOptions, stopped: Callable[[], bool] = lambda: False
) -> Generator[Generated, None, list[TriedTask]]:
    """Yield progress until enough tasks are kept, nothing new is found, or `stopped`; return all that were tried.

    A repeated call goes on where it was. Raises TaskGenerationError, SceneError, SandboxError, StoreError.
    """
    require_usable(options)
    return (yield from _Generation(inputs, options).run(stopped))


def require_usable(options: GenerationOptions) -> None:
    """Raise TaskGenerationError for options that are out of range."""
    if not 1 <= options.count <= MAX_COUNT:
        raise TaskGenerationError(f"the number of tasks is {options.count}; give 1 to {MAX_COUNT}")
    if options.level not in (None, *LEVELS):
        raise TaskGenerationError(f"there is no level {options.level}; the levels are 1, 2 and 3")
    if options.seed < 0:
        raise TaskGenerationError(f"the seed is {options.seed}; give 0 or more")
    if not 0 <= options.demonstrations <= MAX_DEMONSTRATIONS:
        raise TaskGenerationError(
            f"the learner's budget is {options.demonstrations} demonstrations; give 0 to {MAX_DEMONSTRATIONS}"
        )


class _Generation:
    """The state of one run."""

    def __init__(self, inputs: GenerationInputs, options: GenerationOptions):
        self._inputs, self._options, self._run = inputs, options, run_id(inputs, options)
        self._tried: list[TriedTask] = []
        self._keys: set[str] = set()
        self._recorded = read_tried(inputs.project_dir, self._run)
        """Tasks of an earlier call that were not met again yet."""
        scene, folder = read_scene(Path(inputs.project_dir)), starts_folder(inputs.project_dir, self._run)
        self._maker = StartMaker(inputs.project_dir, scene, inputs.library, options.seed, folder)
        self._pools = {level: _Pool() for level in LEVELS}
        self._known = [(one.task, profile_of(one.task, one.categories)) for one in inputs.solved]
        self._failed = 0
        """Questions in a row that the model did not answer."""
        self._notices: dict[str, bool] = {}
        """Messages about failures of the model, in order, each with whether it was yielded."""

    @property
    def _kept(self) -> list[TriedTask]:
        return [one for one in self._tried if one.state == KEPT]

    def run(self, stopped: Callable[[], bool]) -> Generator[Generated, None, list[TriedTask]]:
        with suppress(StageCancelled):  # stopped within a question to a model
            yield from self._try_candidates(stopped)
        return self._tried

    def _try_candidates(self, stopped: Callable[[], bool]) -> Iterator[Generated]:
        wanted = self._options.count
        # Tasks that are tried at most, for each that is wanted
        while len(self._kept) < wanted and sum(one.state != UNUSABLE for one in self._tried) < 6 * wanted:
            if stopped() and not self._recorded:
                break
            candidate = self._next()
            yield from self._new_notices()
            if candidate is None and self._recorded:  # a model that is away proposes less than it did
                for tried in self._recorded:
                    self._add(tried)
                self._recorded.clear()
                continue
            if candidate is None:
                yield self._progress("no further task differs from those that were tried")
                break
            if self._recorded:
                if not self._meet_again(candidate):
                    self._pools[int(candidate.start.id.partition("-")[0])].left.append(candidate)
                continue
            if candidate.flaw:
                yield self._record(self._row(candidate, UNUSABLE, candidate.flaw))
                continue
            if (repeat := self._repeat(candidate)) is not None:
                yield self._record(self._row(candidate, REPEATED, f"repeats: {repeat.instruction}"))
                continue
            yield self._progress(candidate.task.instruction)
            written = self._written(candidate)
            yield from self._new_notices()
            if written.program is None and not written.reason:
                continue
            tried = self._measured(candidate, written, stopped)
            if tried is None:
                break
            yield self._record(tried)

    def _written(self, candidate: TaskCandidate) -> WrittenProgram:
        """Return the program of a candidate; neither program nor reason if the model that should write it fails."""
        task, is_away = candidate.task, self._failed >= MAX_FAILED
        if is_away and not task.planned:
            return WrittenProgram(None)
        writer = ProgramWriter(PlannerModel()) if is_away else self._inputs.writer
        written = writer.write(task, candidate.start.folder, self._inputs.sandbox)
        self._failed = self._failed + 1 if is_away or written.model_failure else 0
        if written.model_failure and not (written.program or written.reason):
            self._notices.setdefault(f"{written.model_failure}; left out: {task.instruction}", False)
        elif written.model_failure and not any(RULES_WRITE in told for told in self._notices):
            self._notices[f"{written.model_failure}; {RULES_WRITE}"] = False
        return written

    def _new_notices(self) -> Iterator[Generated]:
        """Yield each notice once."""
        for message in [message for message, was_told in self._notices.items() if not was_told]:
            self._notices[message] = True
            yield replace(self._progress(message), is_notice=True)

    def _next(self) -> TaskCandidate | None:
        """Return the candidate to try next; None if there is none."""
        outcomes = [outcome(one) for one in self._tried if one.state in (KEPT, REJECTED)]
        wished = self._options.level or next_level(outcomes)
        others = [] if self._options.level else sorted(LEVELS, key=lambda level: abs(level - wished))[1:]
        for level in (wished, *others):
            pool = self._pools[level]
            # 12: starts of each level, at most
            # 2: tasks that are tried before a further start of the level is made, so that a set has objects of many
            # starts
            while pool.starts < 12 and (not self._untried(pool) or pool.taken >= 2 * pool.starts):
                start = self._maker.make(level, pool.starts)
                pool.starts += 1
                if pool.starts > 1 and not start.brought:
                    continue
                proposer = self._inputs.model if self._failed < MAX_FAILED else PlannerModel()
                found = candidates(start, proposer, self._inputs.facts, measured_so_far(outcomes))
                pool.left += [one for one in found.tasks if one.demands is None or one.demands.level == level]
                if found.failure:
                    self._failed += 1
                    self._notices.setdefault(f"{found.failure}; the rules propose alone", False)
            if left := self._untried(pool):
                chosen = choose(left, outcomes, [one for _, one in self._known])
                pool.left.remove(chosen)
                pool.taken += not chosen.flaw
                return chosen
        return None

    def _untried(self, pool: _Pool) -> list[TaskCandidate]:
        return [one for one in pool.left if one.key not in self._keys]

    def _meet_again(self, candidate: TaskCandidate) -> bool:
        """Take over what an earlier call measured: the candidate's, or all where a model proposes other tasks now.

        Return whether the candidate is among it.
        """
        same = self._recorded[0].key == candidate.key
        for tried in self._recorded[: 1 if same else None]:
            self._add(tried)
        del self._recorded[: 1 if same else None]
        return candidate.key in self._keys

    def _repeat(self, candidate: TaskCandidate) -> Task | None:
        """Return a kept or solved task that a candidate repeats; None if it is new."""
        return next((task for task, one in self._known if repeats(one, candidate.profile)), None)

    def _measured(
        self, candidate: TaskCandidate, written: WrittenProgram, stopped: Callable[[], bool]
    ) -> TriedTask | None:
        """Return what is measured of a candidate by its program; None if stopped meanwhile."""
        inputs, options, program = self._inputs, self._options, written.program
        if written.reason or program is None:
            row = self._row(candidate, REJECTED, written.reason)
            return replace(row, program=program, rounds=written.rounds)
        found = measure_validity(program, candidate.start.folder, inputs.sandbox, inputs.robot)
        row = self._row(candidate, REJECTED if found.reason else KEPT, found.reason, found)
        row = replace(row, program=program, rounds=written.rounds)
        if found.reason:
            return row
        if not options.demonstrations:
            return replace(row, worth_reason=NOT_ASKED)
        from pipeline.task_generation.worth import learn_briefly  # needs the extra "learn"

        budget = LearnerBudget(options.demonstrations, options.seed)
        learned = learn_briefly(candidate.task, program, candidate.start.folder, inputs.sandbox, budget, stopped)
        if learned is None:
            return None
        row = replace(
            row,
            worth=learned.success,
            worth_reason=learned.reason,
            worth_layouts=learned.layouts,
            worth_seconds=round(learned.seconds, 1),
        )
        if learned.success is None or WORTH[0] <= learned.success <= WORTH[1]:
            return row
        what = "too hard to learn" if learned.success < WORTH[0] else "learned at once"
        reason = f"{what}: {learned.success:.0%} of layouts after {options.demonstrations} demonstrations"
        return replace(row, state=REJECTED, reason=reason)

    def _row(self, candidate: TaskCandidate, state: str, reason: str, found: Validity | None = None) -> TriedTask:
        start = candidate.start
        scene = kit.Scene.load(start.folder)
        similar = [(similarity(candidate.profile, one), task.instruction) for task, one in self._known]
        nearest = max(similar, default=(0.0, ""))
        measured = {} if found is None else {
            "layouts": found.layouts, "solved": found.solved, "held": found.held, "seconds": round(found.seconds, 2),
            "actions": round(found.actions, 2), "difficulty": round(found.difficulty, 4) if found.solved else None,
        }  # fmt: skip
        return TriedTask(
            candidate.key, candidate.task, state, reason, candidate.demands.level if candidate.demands else None,
            start.id, start.brought, start.distractors, {o.name: o.category for o in scene.objects},
            candidate.demands, novelty=round(1 - nearest[0], 4), nearest=nearest[1], **measured,
        )  # fmt: skip

    def _record(self, tried: TriedTask) -> Generated:
        append_tried(self._inputs.project_dir, self._run, tried)
        self._add(tried)
        return self._progress(f"{tried.state}: {tried.task.instruction} {tried.reason}".strip(), tried)

    def _add(self, tried: TriedTask) -> None:
        self._tried.append(tried)
        self._keys.add(tried.key)
        if tried.state == KEPT:
            self._known.append((tried.task, profile_of(tried.task, tried.categories)))

    def _progress(self, message: str, tried: TriedTask | None = None) -> Generated:
        return Generated(len(self._kept), self._options.count, message, tried)


def outcome(tried: TriedTask) -> TriedOutcome:
    """Return what the curriculum goes by."""
    success = tried.success if tried.worth is None else tried.worth
    return TriedOutcome(tried.task.kind, tried.level or LEVELS[0], tried.state == KEPT, success)
