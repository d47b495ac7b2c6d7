"""`grs-studio tasks`: many tasks for one twin, each measured, with a report."""

import argparse
import sys
import time
from pathlib import Path

from pipeline.task_generation.budget import DEMONSTRATIONS
from studio.commands.options import DONE, add_library, add_model, add_unprotected, require_packages, services_for

SUFFIXES = (".json", ".html")


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("project", type=Path, metavar="PROJECT", help="project with a twin")
    command.add_argument("--count", type=int, default=12, help="tasks to keep (default %(default)s)")
    command.add_argument(
        "--level", type=int, help="1, 2 or 3: by length, precision and clutter (default: by measured success)"
    )
    command.add_argument("--report", type=Path, required=True, metavar="FILE", help="a .json or .html file")
    command.add_argument("--seed", type=int, default=0, help="of what is brought (default %(default)s)")
    command.add_argument(
        "--worth", type=int, nargs="?", const=DEMONSTRATIONS, default=0, metavar="N",
        help="let a learner imitate N demonstrations of each task (default of N %(const)s), and keep what it then "
        "solves in 20 to 80 %% of new layouts; takes about 15 s a task, 90 s at most",
    )  # fmt: skip
    add_library(command)
    add_model(command)
    add_unprotected(command)
    command.set_defaults(execute=tasks)


def tasks(arguments: argparse.Namespace) -> int:
    """Generate tasks with a line each; a stopped command goes on where it was when it is repeated."""
    from pipeline.project import Project
    from pipeline.run.generated_tasks import generation_inputs, movable_objects
    from pipeline.task_generation.generate import GenerationOptions, generate, require_usable
    from pipeline.task_generation.task_files import TaskGenerationError
    from pipeline.task_generation.task_set import report, summary_lines
    from pipeline.task_generation.task_set_report import write_report

    if arguments.report.suffix.lower() not in SUFFIXES:
        raise TaskGenerationError(f"--report {arguments.report} ends with neither .json nor .html")
    options = GenerationOptions(arguments.count, arguments.level, arguments.seed, arguments.worth)
    require_usable(options)
    if options.demonstrations:
        require_packages("learn", "gymnasium", "stable_baselines3")
    project, begun = Project.open(arguments.project), time.monotonic()
    services = services_for(arguments)
    with services.sandbox:
        inputs = generation_inputs(project, services)
        tried = None
        steps = generate(inputs, options)
        while tried is None:
            try:
                step = next(steps)
            except StopIteration as end:
                tried = end.value
            else:
                if step.tried or step.is_notice:
                    print(f"{step.kept} of {step.wanted}: {step.message}", file=sys.stderr, flush=True)
    data = report(project.folder, tried, options, movable_objects(project), time.monotonic() - begun)
    write_report(data, arguments.report)
    print("\n".join(summary_lines(data)), file=sys.stderr)
    return DONE
