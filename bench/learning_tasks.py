"""Learns tasks as a person does by the command line, and prints success, chain and processor time of each.

    python -m bench.learning_tasks --out DIR [--seed N] [--layouts N] [--whole]
                                                          [--demonstrations N] [NAME ...]

A task that is already learned in DIR is only printed. Run it with `nice`, on one thread.
"""

import argparse
import contextlib
import json
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import cabinet
import drawn_scene as make

from bench import ROOT
from pipeline.project import Project
from pipeline.scene.scene_files import write_scene
from pipeline.store import read_json, write_json
from pipeline.tasks import Task, task_to_json
from pipeline.variation import wilson

FRAMES = ROOT.parent / "shared" / "frames"
PICK_AND_PLACE = ("put_in", "put_in_tray", "put_on", "move_to")
"""Kinds of tasks that pick one object up and put it down."""
STUDIO = [sys.executable, "-m", "studio"]


@dataclass(frozen=True)
class Bench:
    """One task that is learned."""

    frame: Path | None
    """None for the tests' cabinet."""
    instruction: str
    """Empty for the first pick-and-place task that is proposed."""


def sample(name: str) -> Path:
    return ROOT / "sample_scenes" / name


TASKS = {
    "push": Bench(sample("blocks"), "Push the red cube into the zone on the left."),
    "onto": Bench(sample("blocks"), "Put the red cube onto the yellow block."),
    "drawer": Bench(None, "Open the upper drawer of the cabinet."),
    "bin": Bench(sample("stack"), "Put the red cube into the white bin."),
    "bowl": Bench(sample("kitchen"), "Put the orange into the teal bowl."),
    "push_other": Bench(sample("stack"), "Push the green cylinder into the zone on the left."),
    "five": Bench(
        sample("stack"), "Push the green cylinder into the zone on the left and put the red cube into the white bin."
    ),
    **{name: Bench(FRAMES / name, "") for name in ("uoc_0", "uoc_1", "m2t2_00", "posecnn_0")},
}


def run(*arguments: object) -> float:
    """Run a command of the studio; return its processor time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*STUDIO, *map(str, arguments)], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def prepare(name: str, bench: Bench, project: Path) -> None:
    """Make the project of a task, with its program. Raises StopIteration where no proposed task can be learned."""
    if (project / "rounds.jsonl").is_file() or (bench.frame is None and (project / "task.json").is_file()):
        return
    if bench.frame is None:
        _cabinet_project(project, bench.instruction)
        return
    if bench.instruction:
        run("run", bench.frame, "--out", project, "--until", "rounds", "--task", bench.instruction)
        return
    run("run", bench.frame, "--out", project, "--until", "task")
    for instruction in _pick_and_place(project):
        with contextlib.suppress(subprocess.CalledProcessError):  # the twin refuses this one
            run("run", bench.frame, "--out", project, "--until", "rounds", "--task", instruction)
            if _is_valid(project):
                print(f"{name}: {instruction}", file=sys.stderr)
                return
    raise StopIteration


def _is_valid(project: Path) -> bool:
    """Whether the newest round passes all checks: it is not solved at the start, and the oracle does it."""
    newest = sorted((project / "rounds").glob("*/report.json"))[-1]
    report = json.loads(newest.read_text())
    return not report.get("crash") and all(one["passed"] for one in report["checks"])


def _cabinet_project(folder: Path, instruction: str) -> None:
    made = folder.with_name(f"{folder.name}_made")
    made.mkdir(parents=True, exist_ok=True)
    scene = cabinet.scene(made)
    frame, _, segments = make.photograph(scene)
    project = Project.create(folder, frame)
    project.save_segments(segments)
    write_scene(scene, folder)
    project.close()
    task = Task("open", instruction, ("cabinet",), ("cabinet's top_drawer is open",), "open")
    write_json(folder / "task.json", task_to_json(task))


def _pick_and_place(project: Path) -> list[str]:
    """Return the instructions of the proposed tasks that put one object on or into another, in order."""
    rows = json.loads((project / "tasks.json").read_text())
    proposed = rows["tasks"] if isinstance(rows, dict) else rows
    return [row["instruction"] for row in proposed if row["kind"] in PICK_AND_PLACE and len(row["goals"]) == 1]


def measure(name: str, project: Path, options: argparse.Namespace) -> dict:
    """Learn a task and evaluate it; return report.json with the processor time of the whole command."""
    seed = options.seed
    kept = project / "learning" / f"bench_{seed}.json"
    if (found := read_json(kept)) is not None:
        return found
    print(f"{name}: learning", file=sys.stderr)
    shown = ["--demonstrations", options.demonstrations] if options.demonstrations else []
    seconds = run("learn", project, "--seed", seed, *shown)
    if options.whole:
        run("learn", project, "--subtask", "whole", "--seed", seed, *shown)
    run("learn", project, "--evaluate", "--layouts", options.layouts, "--seed", seed)
    report = json.loads((project / "learning" / "report.json").read_text()) | {"command_processor": seconds}
    for number, one in enumerate(report["subtasks"]):
        training = project / "learning" / f"{number}_{one['name']}" / "training.json"
        one["processor"] = json.loads(training.read_text())["processor"]
    write_json(kept, report)
    return report


def row(name: str, report: dict) -> str:
    """Return the line of a table: steps, processor time, success of each subtask, of the chain and of one policy."""
    parts = [
        f"{one['name']} {one['success']:.2f} of {one['layouts']} ({one['steps']:,} steps, {one['processor']:.0f} s)"
        for one in report["subtasks"]
    ]
    chain, whole = report["chain"], report["whole"]
    found = wilson(round(chain["success"] * chain["layouts"]), chain["layouts"])
    alone = f"{whole['success']:.2f} of {whole['layouts']}" if whole else "not learned"
    between = f"{chain['success']:.2f} ({found.low:.2f} to {found.high:.2f})"
    return f"| {name} | {'; '.join(parts)} | {between} | {alone} | {report['command_processor']:.0f} s |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(TASKS), metavar="NAME")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--layouts", type=int, default=30)
    parser.add_argument("--whole", action="store_true", help="also learn each task by one policy of the same budget")
    parser.add_argument("--demonstrations", type=int, default=0, help="starts from which the oracle is imitated first")
    arguments = parser.parse_args()
    print("| task | subtasks: success of unseen layouts | chain | one policy | processor time |", flush=True)
    for name in arguments.names:
        project = arguments.out / name
        try:
            prepare(name, TASKS[name], project)
            report = measure(name, project, arguments)
        except (subprocess.CalledProcessError, StopIteration) as error:
            print(f"| {name} | failed: {error} | | | |", flush=True)
            continue
        print(row(name, report), flush=True)


if __name__ == "__main__":
    main()
