"""`grs-studio check`: run a program and its checks in the sandbox."""

import argparse
import json
from pathlib import Path

from pipeline.errors import StudioError
from studio.commands.options import DONE, add_unprotected


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("program", type=Path, help="folder that holds simulation.py and checks.py")
    command.add_argument("--scene", type=Path, required=True, help="project folder that holds the twin")
    add_unprotected(command)
    command.set_defaults(execute=check)


def check(arguments: argparse.Namespace) -> int:
    from pipeline.project import Project
    from pipeline.router import check_program, report_json
    from pipeline.simulation.program import read_program
    from pipeline.simulation.sandbox.sandbox import Sandbox

    program = read_program(arguments.program)
    project = Project.open(arguments.scene)
    if project.scene() is None:
        raise StudioError(
            f"{arguments.scene} has no scene yet; run grs-studio run FRAME --out {arguments.scene} --until scene"
        )
    program = project.program_in_current_names(program)
    with Sandbox(arguments.unprotected) as sandbox:
        report = check_program(program, project.folder, sandbox)
    print(json.dumps(report_json(report) | {"protection": report.protection}, indent=1, ensure_ascii=False))
    return DONE
