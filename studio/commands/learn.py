"""`grs-studio learn`: split a task into subtasks, learn a policy for each, and evaluate them on unseen layouts."""

import argparse
import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from studio.commands.options import (
    DONE,
    add_model,
    add_unprotected,
    announce_sending,
    model_setting,
    require_packages,
)

if TYPE_CHECKING:
    from pipeline.learning.chain import TaskLearner

LAYOUTS = 30
"""Unseen layouts of an evaluation."""


def add_to(commands: "argparse._SubParsersAction") -> None:
    """Add the subcommand."""
    command = commands.add_parser("learn", help="learn policies for the subtasks of a task by reinforcement")
    command.add_argument("project", type=Path, metavar="PROJECT", help="project with a task")
    command.add_argument(
        "--subtask",
        action="append",
        default=[],
        metavar="NAME",
        help='learn this one; may be repeated (default all); "whole" is the task by one policy',
    )
    command.add_argument(
        "--steps", type=_positive, default=80_000, help="most control steps of each (default %(default)s)"
    )
    command.add_argument("--minutes", type=float, default=float("inf"), help="most time for all of them")
    command.add_argument("--seed", type=int, default=0, help="of training or evaluation (default %(default)s)")
    command.add_argument(
        "--from", dest="origin", choices=("chain", "reset"), default="chain",
        help="begin in the end states of the former subtask, or on the task's layouts (default %(default)s)",
    )  # fmt: skip
    command.add_argument(
        "--demonstrations", type=_positive, default=0, metavar="N", help="clone N demonstrations of the oracle first"
    )
    command.add_argument("--evaluate", action="store_true", help="only measure success; JSON on stdout")
    command.add_argument(
        "--ablation", action="store_true",
        help="learn the task with and without subtasks, shaping and demonstrations, with three seeds; table on stdout",
    )  # fmt: skip
    command.add_argument("--layouts", type=_positive, default=LAYOUTS, help="unseen layouts (default %(default)s)")
    command.add_argument("--json", action="store_true", help="also print progress as JSON lines on stdout")
    add_model(command)
    add_unprotected(command)
    command.set_defaults(execute=learn)


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number above 0")
    return int(text)


def learn(arguments: argparse.Namespace) -> int:
    """Learn or evaluate; a stopped command goes on where it was when it is repeated."""
    require_packages("learn", "gymnasium", "stable_baselines3")
    from pipeline.project import Project
    from studio.learn.project_learner import open_learner
    from studio.server.services import Settings, open_services

    project = Project.open(arguments.project)
    settings = Settings.from_environment(model=model_setting(arguments.model), unprotected=arguments.unprotected)
    services = announce_sending(open_services(settings))
    with contextlib.closing(services.sandbox):
        learner = open_learner(project, services, lambda line: print(line, file=sys.stderr))
        if arguments.ablation:
            _ablate(learner, arguments)
            return DONE
        if not arguments.evaluate:
            _train(learner, arguments)
        _evaluate(learner, arguments)
    return DONE


def _train(learner: "TaskLearner", arguments: argparse.Namespace) -> None:
    """Learn the chosen subtasks, with a line on stderr for every evaluation."""
    from pipeline.learning.chain import ChainOptions, SubtaskLearned
    from pipeline.learning.training import TrainingOptions

    training = TrainingOptions(steps=arguments.steps, seed=arguments.seed)
    options = ChainOptions(
        training, tuple(arguments.subtask), seconds=60 * arguments.minutes, from_reset=arguments.origin == "reset",
        demonstrations=arguments.demonstrations,
    )  # fmt: skip
    with contextlib.closing(learner.learn(options)) as steps:
        for step in steps:
            if isinstance(step, SubtaskLearned):
                line = (
                    f"{step.subtask}: learned to {step.success:.0%} of validation layouts, {step.end_states} end states"
                )
            elif step.success is None:
                _send_progress(arguments, {"subtask": step.subtask, "steps": step.steps, "seconds": step.seconds})
                continue
            else:
                line = f"{step.subtask}: {step.steps} steps, {step.seconds:.0f} s, success {step.success:.0%}"
                _send_progress(arguments, {"subtask": step.subtask, "steps": step.steps, "seconds": step.seconds})
            print(line, file=sys.stderr, flush=True)


def _send_progress(arguments: argparse.Namespace, progress: dict) -> None:
    """Print progress for the program that started the command, such as the Learn page."""
    if arguments.json:
        print(json.dumps(progress), flush=True)


def _ablate(learner: "TaskLearner", arguments: argparse.Namespace) -> None:
    """Learn every variant of the ablation and print its table; a stopped one goes on where it was."""
    from pipeline.learning.ablation import AblationOptions, ablate
    from pipeline.store import read_json

    options = AblationOptions(steps=arguments.steps, layouts=arguments.layouts)
    folder = learner.report_file.parent
    for line in ablate(folder.parent, learner.layouts, learner.subtasks, options):
        print(line, file=sys.stderr, flush=True)
    if not arguments.json:
        print(json.dumps(read_json(folder / "ablation.json"), indent=1))


def _evaluate(learner: "TaskLearner", arguments: argparse.Namespace) -> None:
    """Measure all policies on unseen layouts if all are learned, and write and print the report."""
    from pipeline.learning.evaluation import evaluate, evaluate_whole, write_report

    missing = [one.name for one in learner.subtasks if not learner.folder(one).policy.is_file()]
    if missing and not arguments.evaluate:
        print(f"not evaluated: {', '.join(missing)} not learned yet", file=sys.stderr)
        return
    layouts, seed = arguments.layouts, arguments.seed
    whole = evaluate_whole(learner, layouts, seed)
    report = write_report(learner, list(evaluate(learner, layouts, seed)), whole, layouts)
    if arguments.evaluate:
        print(json.dumps(report, indent=1))
    else:
        chain = report["chain"]
        print(f"chain: {chain['success']:.0%} of {chain['layouts']} unseen layouts", file=sys.stderr)
