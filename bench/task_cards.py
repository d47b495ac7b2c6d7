"""`python -m bench.task_cards PROJECT ...`: cards of tasks that should not be proposed, by fault.

The offline rules propose tasks anew for the twin of each project. The faults are measured apart from the rules: what is
done at the start by the reward of the program, what is cut off by the masks, what lies beyond the table by its outline.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from pipeline.errors import StudioError
from pipeline.object_words import object_words
from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.router import write_program
from pipeline.run.cut_off import cut_off_objects, doubtful_objects
from pipeline.scene.confidence import identity_doubts
from pipeline.simulation import kit
from pipeline.simulation.rollout import SOLVED
from pipeline.tasks import Task, ask_for_proposals
from studio.task.proposals import goals_in_words, identity_warnings, object_doubts

COUNT = 12
"""Most tasks of a project."""
ID = re.compile(r"\w_\w")
MAX_OVERHANG_M = 0.02
"""Metres by which an object's outline may extend beyond the table."""
FAULTS = ("id", "done at the start", "cut off", "beyond the table", "doubtful, unsaid")


def faults(project: Project, scene: kit.Scene, task: Task) -> Iterator[tuple[str, str]]:
    """Yield the faults of one card: their kind and what they are about."""
    words = object_words(project)
    warnings = identity_warnings(task, object_doubts(project), words)
    shown = [words.in_words(task.instruction), *goals_in_words(task.goals, words), *warnings]
    shown += [words.of(name) for name in task.objects]
    yield from (("id", text) for text in shown if ID.search(text))
    if reward_at_start(scene, task) > SOLVED:
        yield "done at the start", task.instruction
    cut_off = cut_off_objects(project)
    yield from (("cut off", name) for name in task.objects if name in cut_off)
    beyond = [name for name in task.objects if scene.table.depth(scene[name].outline).min() < -MAX_OVERHANG_M]
    yield from (("beyond the table", name) for name in beyond)
    yield from (("doubtful, unsaid", name) for name in _doubts(project) if name in task.objects and not warnings)


def reward_at_start(scene: kit.Scene, task: Task) -> float:
    """Return the reward that the program of the offline rules gives before anything moves."""
    program: dict = {}
    sys.modules["kit"] = kit
    exec(write_program(task, scene, PlannerModel()).simulation, program)
    return program["build"](scene, 0).reward_at_start()


def _doubts(project: Project) -> Mapping[str, str]:
    scene = project.scene()
    return identity_doubts(scene, project.matches() or ()) if scene else {}


def main(folders: list[str]) -> int:
    """Print the faults of every card and their number by kind."""
    if not folders:
        print("task_cards: name at least one project folder", file=sys.stderr)
        return 2
    found: Counter[str] = Counter()
    cards = scenes = 0
    for folder in map(Path, folders):
        try:
            project, scene = Project.open(folder), kit.Scene.load(folder)
        except (StudioError, OSError) as error:
            print(f"{folder.name}: left out: {error}")
            continue
        tasks = ask_for_proposals(scene, PlannerModel(), COUNT, doubtful=doubtful_objects(project, scene)).tasks
        cards, scenes = cards + len(tasks), scenes + 1
        for task in tasks:
            for kind, what in faults(project, scene, task):
                found[kind] += 1
                print(f"{folder.name}: {task.instruction} [{kind}: {what}]")
    print(f"{cards} cards of {scenes} scenes: " + ", ".join(f"{kind} {found[kind]}" for kind in FAULTS))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
