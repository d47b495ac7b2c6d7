"""`python -m bench.generated_tasks PROJECT ... [--planted N] [--kept N] [--aside NAME ...]`.

Measures the judge of tasks: the share of planted impossible or trivial tasks that are rejected, of good ones that are,
of kept tasks that are solved in half of 8 layouts that nothing was measured on, and of pairs of sets that are told
apart. Projects named by --aside are counted on their own.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.planted_tasks import bad_tasks, good_tasks, spread_over_kinds
from bench.task_pairs import NAMES, set_pairs
from pipeline.assets.library import BUILTIN_LIBRARY, Library
from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.run.cut_off import doubtful_objects
from pipeline.simulation import kit
from pipeline.simulation.sandbox.sandbox import Sandbox
from pipeline.task_generation.budget import LearnerBudget
from pipeline.task_generation.candidates import SceneFacts
from pipeline.task_generation.curriculum import WORTH
from pipeline.task_generation.generate import GenerationInputs, GenerationOptions, generate, run_id
from pipeline.task_generation.programs import ProgramWriter
from pipeline.task_generation.similarity import mean_distance, profile_of, similarity_matrix, vendi_score
from pipeline.task_generation.task_files import KEPT, TriedTask, read_tried, start_folder
from pipeline.task_generation.validity import Validity, measure_validity
from pipeline.variation import wilson

Worths = dict[int, float | None]
"""Success of a learner by its number of demonstrations."""
WORTH_TASKS = 3
"""Tasks of each project that a learner tries."""
FRESH = tuple(range(90_001, 90_009))
"""Layouts that no generated task was measured on."""


def judged(folders: Sequence[Path], sandbox: Sandbox, planted, most: int) -> Iterator[tuple[str, bool]]:
    """Yield the project and whether each planted task was rejected."""
    scenes = [kit.Scene.load(folder) for folder in folders]
    for folder, cases in zip(folders, spread_over_kinds([list(planted(scene)) for scene in scenes], most), strict=True):
        for case in cases:
            written = ProgramWriter(PlannerModel()).write(case.task, folder, sandbox)
            found = measure_validity(written.program, folder, sandbox) if written.program else Validity(written.reason)
            outcome = found.reason or f"valid {found.solved}/{found.layouts}"
            print(f"  {folder.name} [{case.why}] {case.task.instruction} -> {outcome}", flush=True)
            yield folder.name, bool(found.reason)


def generated(folder: Path, sandbox: Sandbox, count: int, work: Path) -> tuple[Path, list[TriedTask]]:
    """Return a copy of a project below `work`, and the tasks that were tried until `count` of them were kept."""
    project = Project.open(folder)
    facts = SceneFacts({}, {}, doubtful_objects(project, kit.Scene.load(folder)))
    copy = work / folder.name
    copy.mkdir(parents=True, exist_ok=True)
    for name in ("scene.json", "scene", "descriptions.json"):
        if not (copy / name).exists():
            (copy / name).symlink_to(folder.resolve() / name)
    inputs = GenerationInputs(copy, Library.open([BUILTIN_LIBRARY]), PlannerModel(), sandbox, facts)
    options = GenerationOptions(count)
    for _ in generate(inputs, options):
        pass
    return copy, read_tried(copy, run_id(inputs, options))


def kept_again(folder: Path, sandbox: Sandbox, count: int, work: Path) -> Iterator[tuple[str, bool]]:
    """Yield the project and whether each kept task is solved in half of 8 unseen layouts."""
    copy, rows = generated(folder, sandbox, count, work)
    for tried in rows:
        print(
            f"  {folder.name} level {tried.level} [{tried.state}] {tried.task.instruction} {tried.reason}", flush=True
        )
        if tried.state == KEPT:
            assert tried.program is not None, "a task without a program is not kept"
            found = measure_validity(tried.program, start_folder(copy, tried), sandbox, seeds=FRESH)
            if found.reason:
                print(f"    not again: {found.reason}")
            yield folder.name, not found.reason


def worths(folder: Path, sandbox: Sandbox, count: int, work: Path, budgets: Sequence[int]) -> Iterator[Worths]:
    """Yield what a learner makes of each kept task with each budget."""
    from pipeline.task_generation.worth import learn_briefly  # needs the extra "learn"

    copy, rows = generated(folder, sandbox, count, work)
    for tried in [row for row in rows if row.state == KEPT][:count]:
        start = start_folder(copy, tried)
        assert tried.program is not None, "a task without a program is not kept"
        found = {n: learn_briefly(tried.task, tried.program, start, sandbox, LearnerBudget(n)) for n in budgets}
        words = ", ".join(
            f"{n}: {one.reason if one.success is None else f'{one.success:.0%}'} in {one.seconds:.0f} s"
            for n, one in found.items()
            if one
        )
        print(f"  {folder.name} level {tried.level} {tried.task.instruction} -> {words}", flush=True)
        yield {n: one.success for n, one in found.items() if one}


def print_worths(rows: Sequence[Worths], budgets: Sequence[int]) -> None:
    """Print how the tasks spread with each budget."""
    low, high = WORTH
    for budget in budgets:
        known = [one for row in rows if (one := row[budget]) is not None]
        share = wilson(sum(low <= one <= high for one in known), max(len(known), 1))
        print(
            f"{budget} demonstrations: of {len(known)} tasks {sum(one < low for one in known)} too hard, "
            f"{share.successes} worth having ({share.low:.0%} to {share.high:.0%}), "
            f"{sum(one > high for one in known)} learned at once; {len(rows) - len(known)} not measured"
        )


def told_apart() -> Iterator[tuple[str, bool]]:
    """Yield whether both measures of diversity tell each diverse set from its repetitive one."""
    for diverse, repetitive in set_pairs():
        one, other = (similarity_matrix([profile_of(task, NAMES) for task in tasks]) for tasks in (diverse, repetitive))
        both = mean_distance(one) > mean_distance(other) and vendi_score(one) > vendi_score(other)
        yield "sets", both


def count(title: str, rows: Sequence[tuple[str, bool]], aside: Sequence[str]) -> None:
    """Print a share with its 95 % interval, and apart that of the projects that were set aside."""
    groups = {"": rows, " (first seen)": [row for row in rows if row[0] not in aside]}
    groups[" (aside)"] = [row for row in rows if row[0] in aside]
    for label, own in groups.items():
        if own and (not label or aside):
            share = wilson(sum(hit for _, hit in own), len(own))
            print(
                f"{title}{label}: {share.successes} of {share.count} ({share.low:.0%} to {share.high:.0%})", flush=True
            )


def main(words: Sequence[str]) -> int:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(prog="generated_tasks")
    parser.add_argument("projects", type=Path, nargs="+")
    parser.add_argument("--planted", type=int, default=60)
    parser.add_argument("--kept", type=int, default=5, help="tasks of each project")
    parser.add_argument("--worth", type=int, nargs="+", default=[], help="numbers of demonstrations")
    parser.add_argument("--aside", nargs="*", default=[])
    parser.add_argument("--work", type=Path, help="folder of the generated tasks, with which a second run goes on")
    arguments = parser.parse_args(words)
    folders, aside = arguments.projects, arguments.aside
    count("pairs of sets told apart", list(told_apart()), ())
    with Sandbox() as sandbox, tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or Path(temporary)
        if arguments.planted:
            rejected = {
                name: list(judged(folders, sandbox, kind, arguments.planted))
                for name, kind in (("impossible or trivial", bad_tasks), ("good", good_tasks))
            }
            for name, rows in rejected.items():
                count(f"{name} rejected", rows, aside)
        if arguments.kept:
            again = [row for f in folders for row in kept_again(f, sandbox, arguments.kept, work)]
            count("kept, solved again", again, aside)
        if arguments.worth:
            found = [row for f in folders for row in worths(f, sandbox, WORTH_TASKS, work, arguments.worth)]
            print_worths(found, arguments.worth)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
