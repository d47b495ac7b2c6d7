"""`grs-studio ablation`: the paper's ablation of the router (GRS, Zook et al. 2024), on any scenes."""

import argparse
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from studio.commands.options import DONE, add_model, add_unprotected, announce_sending, model_setting

if TYPE_CHECKING:
    from pipeline.run import Services

MODES = ("none", "repair", "route")


def add_to(commands: "argparse._SubParsersAction") -> None:
    """Add the subcommand."""
    command = commands.add_parser("ablation", help="every router mode on every proposed task of some scenes")
    command.add_argument("scenes", type=Path, nargs="+", help="frames, or project folders that hold a twin")
    command.add_argument("--out", type=Path, required=True, help="folder for the table, the chart and new projects")
    command.add_argument("--tasks", type=int, default=8, help="tasks of each scene, at most (default %(default)s)")
    command.add_argument("--modes", nargs="+", default=list(MODES), choices=MODES)
    add_model(command)
    add_unprotected(command)
    command.set_defaults(execute=ablation)


def ablation(arguments: argparse.Namespace) -> int:
    from pipeline.evaluation import ablate, write_ablation
    from pipeline.evaluation.ablation import markdown
    from studio.server.services import Settings, open_services

    settings = Settings.from_environment(model=model_setting(arguments.model), unprotected=arguments.unprotected)
    services = announce_sending(open_services(settings))
    with contextlib.closing(services.sandbox):
        scenes = [_project_with_twin(path, arguments.out / "projects", services) for path in arguments.scenes]
        trials = []
        for trial in ablate(scenes, services.model, services.sandbox, arguments.modes, arguments.tasks):
            trials.append(trial)
            result = "crashed" if trial.crashed else f"reward {trial.reward:.2f}"
            print(f"{trial.scene}: {trial.task}, {trial.mode}: {result}: {trial.why}", file=sys.stderr)
    print(markdown(write_ablation(trials, arguments.out, services.model.name)), end="")
    return DONE


def _project_with_twin(path: Path, projects: Path, services: "Services") -> Path:
    """Return the project folder at `path`, or one in `projects` made from the frame there up to its twin."""
    from pipeline.frame import load
    from pipeline.project import Project
    from pipeline.run import run_stages

    if (path / "scene.json").is_file():
        return path
    folder = path if (path / "project.json").is_file() else projects / path.resolve().stem
    project = Project.open(folder) if (folder / "project.json").is_file() else Project.create(folder, load(path))
    for step in run_stages(project, services, "scene"):
        print(f"{folder.name}: {step.stage}: {step.message}", file=sys.stderr)
    return folder
