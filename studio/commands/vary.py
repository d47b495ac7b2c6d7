"""`grs-studio vary`: what a robot's success depends on."""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from studio.commands.options import DONE, add_library, add_unprotected


def add_to(commands: "argparse._SubParsersAction") -> None:
    """Add the subcommand."""
    command = commands.add_parser("vary", help="run a task under varied conditions and find what success depends on")
    command.add_argument("project", type=Path, metavar="PROJECT", help="project with a task and a round")
    command.add_argument("--count", type=int, default=50, help="number of conditions (default %(default)s)")
    command.add_argument("--seed", type=int, default=0, help="of the conditions (default %(default)s)")
    command.add_argument("--robot", default="gripper", choices=("gripper", "arm", "arm-suction", "policy"))
    command.add_argument("--out", type=Path, required=True, help="folder for conditions.jsonl, outcomes, report.html")
    command.add_argument(
        "--condition", metavar="ID", help="only write the start of this condition to --out: scene.json and scene/"
    )
    add_library(command)
    add_unprotected(command)
    command.set_defaults(execute=vary)


def vary(arguments: argparse.Namespace) -> int:
    """Write conditions.jsonl, then each outcome as it is known; a repeated command goes on where it was stopped."""
    from pipeline.assets.library import BUILTIN_LIBRARY, Library
    from pipeline.project import Project
    from pipeline.simulation.sandbox.sandbox import Sandbox
    from pipeline.store import append_lines
    from pipeline.variation import VariationError, VariationStudy
    from pipeline.variation import variation_files as files

    project = Project.open(arguments.project)
    task, chosen = project.task(), project.best_round()
    if project.scene() is None or task is None or chosen is None:
        raise VariationError(f"{arguments.project} has no round of a task; run grs-studio run first")
    if arguments.robot == "policy":
        raise VariationError("--robot policy needs a policy of grs-studio learn, which this version cannot run here")
    library = Library.open(arguments.library or [BUILTIN_LIBRARY])
    study = VariationStudy(project.folder, task.objects, library, arguments.seed, arguments.count)
    if arguments.condition:
        start = study.write(arguments.condition, arguments.out)
        print(f"{start.condition.id}: start {start.digest} written to {arguments.out}", file=sys.stderr)
        return DONE
    conditions = _conditions(study, arguments.out)
    outcomes = files.read_outcomes(arguments.out, arguments.robot)
    left = [id for id in study.ids if id not in outcomes]
    program = project.program_in_current_names(chosen.program)
    with Sandbox(arguments.unprotected) as sandbox:
        for outcome in study.run(program, sandbox, arguments.robot, left):
            append_lines(files.outcomes_path(arguments.out, arguments.robot), [asdict(outcome)])
            outcomes[outcome.id] = outcome
            print(f"{outcome.id}: {'solved' if outcome.success else outcome.reason or 'not solved'}", file=sys.stderr)
    data = files.summarise(conditions, {id: outcomes[id] for id in study.ids}, arguments.robot)
    files.write_variation(data, conditions, arguments.out)
    print("\n".join(files.summary_lines(data)), file=sys.stderr)
    return DONE


def _conditions(study, folder: Path) -> list[dict]:
    """Return the rows of conditions.jsonl, which is written if it is not there. Raises VariationError."""
    from pipeline.variation import VariationError
    from pipeline.variation import variation_files as files

    rows = files.read_conditions(folder)
    if not rows:
        files.write_conditions(list(study.starts()), folder)
        rows = files.read_conditions(folder)
    if [row["id"] for row in rows] != list(study.ids) or rows[0]["values"] != dict(
        study.condition(study.ids[0]).values
    ):
        raise VariationError(f"{folder} holds other conditions; choose another --out folder or remove it")
    return rows
