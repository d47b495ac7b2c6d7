"""`python -m tests.bench.generated_tasks PROJECT ... [--planted N] [--kept N] [--aside NAME ...]`: the judge of tasks.

Prints the share of planted impossible or trivial tasks that are rejected, of good ones that are, of kept tasks that are
solved in half of 8 layouts that nothing was measured on, and of pairs of sets that are told apart. Projects named by
--aside are counted on their own.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline.assets.library import BUILTIN_LIBRARY, Library
from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.run.cut_off import doubtful_objects
from pipeline.simulation import kit
from pipeline.simulation.sandbox.sandbox import Sandbox
from pipeline.task_generation.candidates import SceneFacts
from pipeline.task_generation.generate import GenerationInputs, GenerationOptions, generate, profile_of
from pipeline.task_generation.similarity import mean_distance, similarity_matrix, vendi_score
from pipeline.task_generation.task_files import KEPT
from pipeline.task_generation.validity import measure_validity
from pipeline.variation import wilson
from tests.bench.planted_tasks import NAMES, Planted, bad_tasks, good_tasks, set_pairs

FRESH = tuple(range(90_001, 90_009))
"""Layouts that no generated task was measured on."""


def spread(cases: Sequence[Sequence[Planted]], most: int) -> list[list[Planted]]:
    """Return at most so many cases of all projects together, in turn, each kind as often as there is room."""
    chosen: list[list[Planted]] = [[] for _ in cases]
    queues = [_by_kind(own) for own in cases]
    while sum(map(len, chosen)) < most and any(queues):
        for own, queue in zip(chosen, queues, strict=True):
            if queue and sum(map(len, chosen)) < most:
                own.append(queue.pop(0))
    return chosen


def _by_kind(cases: Sequence[Planted]) -> list[Planted]:
    """Return the first of each kind, then the second of each."""
    seen: dict[str, int] = {}
    ranked = []
    for number, case in enumerate(cases):
        seen[case.why] = seen.get(case.why, 0) + 1
        ranked.append((seen[case.why], number, case))
    return [case for *_, case in sorted(ranked, key=lambda row: row[:2])]


def judged(folders: Sequence[Path], sandbox: Sandbox, planted, most: int) -> Iterator[tuple[str, bool]]:
    """Yield the project and whether each planted task was rejected."""
    scenes = [kit.Scene.load(folder) for folder in folders]
    for folder, cases in zip(folders, spread([list(planted(scene)) for scene in scenes], most), strict=True):
        for case in cases:
            found = measure_validity(case.task, folder, sandbox)
            outcome = found.reason or f"valid {found.solved}/{found.layouts}"
            print(f"  {folder.name} [{case.why}] {case.task.instruction} -> {outcome}", flush=True)
            yield folder.name, bool(found.reason)


def kept_again(folder: Path, sandbox: Sandbox, count: int) -> Iterator[tuple[str, bool]]:
    """Yield the project and whether each kept task is solved in half of 8 unseen layouts."""
    project = Project.open(folder)
    facts = SceneFacts({}, {}, doubtful_objects(project, kit.Scene.load(folder)))
    with tempfile.TemporaryDirectory() as out:
        copy = Path(out) / folder.name
        copy.mkdir()
        for name in ("scene.json", "scene", "descriptions.json"):
            (copy / name).symlink_to(folder.resolve() / name)
        inputs = GenerationInputs(copy, Library.open([BUILTIN_LIBRARY]), PlannerModel(), sandbox, facts)
        steps = [step.tried for step in generate(inputs, GenerationOptions(count)) if step.tried]
        starts = next((copy / "generated").glob("starts-*"))
        for tried in steps:
            print(
                f"  {folder.name} level {tried.level} [{tried.state}] {tried.task.instruction} {tried.reason}",
                flush=True,
            )
            if tried.state == KEPT:
                found = measure_validity(tried.task, starts / tried.start, sandbox, seeds=FRESH)
                if found.reason:
                    print(f"    not again: {found.reason}")
                yield folder.name, not found.reason


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
    parser.add_argument("--aside", nargs="*", default=[])
    arguments = parser.parse_args(words)
    folders, aside = arguments.projects, arguments.aside
    count("pairs of sets told apart", list(told_apart()), ())
    with Sandbox() as sandbox:
        if arguments.planted:
            count("impossible or trivial rejected", list(judged(folders, sandbox, bad_tasks, arguments.planted)), aside)
            count("good rejected", list(judged(folders, sandbox, good_tasks, arguments.planted)), aside)
        if arguments.kept:
            count("kept, solved again", [row for f in folders for row in kept_again(f, sandbox, arguments.kept)], aside)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
