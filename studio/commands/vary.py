"""`grs-studio vary`: what a robot's success depends on."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.simulation.robots import ROBOTS
from studio.commands.options import DONE, add_library, add_unprotected, require_packages
from studio.sessions.watched_condition import FOLDER

if TYPE_CHECKING:
    from pipeline.project import Project
    from pipeline.simulation.sandbox.sandbox import Sandbox
    from pipeline.variation import Perform


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("project", type=Path, metavar="PROJECT", help="project with a task and a round")
    command.add_argument("--count", type=int, default=50, help="number of conditions (default %(default)s)")
    command.add_argument("--seed", type=int, default=0, help="of the conditions (default %(default)s)")
    command.add_argument("--robot", default="gripper", choices=(*ROBOTS, "policy"))
    command.add_argument(
        "--policy",
        default="",
        metavar="POLICY",
        help="of --robot policy: learned (by grs-studio learn; default), demonstration, hold, FILE.py:FUNCTION, "
        "http://HOST:PORT/PATH, or openpi://, groot://, lerobot:// or vla-eval:// with HOST:PORT",
    )
    command.add_argument(
        "--seconds", type=float, default=30.0, help="simulated, of a policy's trial (default %(default)s)"
    )
    command.add_argument("--images", action="store_true", help="send a policy the picture of the varied camera, too")
    command.add_argument(
        "--out",
        type=Path,
        help="folder for conditions.jsonl, outcomes, report.html (default PROJECT/variations/ROBOT, for the Task page)",
    )
    command.add_argument(
        "--condition",
        metavar="ID",
        help="only write this condition's start, scene.json and scene/, to --out (default PROJECT/variations/ID)",
    )
    add_library(command)
    add_unprotected(command)
    command.set_defaults(execute=vary)


def vary(arguments: argparse.Namespace) -> int:
    """Write conditions.jsonl, then each outcome as it is known; a repeated command goes on where it was stopped."""
    from pipeline.assets.library import BUILTIN_LIBRARY, Library
    from pipeline.project import Project
    from pipeline.simulation.sandbox.sandbox import Sandbox
    from pipeline.variation import VariationError, VariationStudy
    from pipeline.variation import variation_files as files

    project = Project.open(arguments.project)
    task, chosen = project.task(), project.best_round()
    if project.scene() is None or task is None or chosen is None:
        raise VariationError(f"{arguments.project} has no round of a task; run grs-studio run first")
    policy = _policy(arguments)
    out = arguments.out or project.folder / FOLDER / (arguments.condition or arguments.robot)
    library = Library.open(arguments.library or [BUILTIN_LIBRARY])
    study = VariationStudy(project.folder, task.objects, library, arguments.seed, arguments.count)
    if arguments.condition:
        start = study.write(arguments.condition, out)
        print(f"{start.condition.id}: start {start.digest} written to {out}", file=sys.stderr)
        return DONE
    outcomes = files.read_outcomes(out, arguments.robot, policy)
    with Sandbox(arguments.unprotected) as sandbox:
        perform = _perform(arguments, policy, project, sandbox)
        conditions = _conditions(study, out)
        left = [id for id in study.ids if id not in outcomes]
        for outcome in study.run(perform, left, jobs=1 if policy else 0):  # a server keeps one episode in mind
            files.append_outcome(out, arguments.robot, outcome, policy)
            outcomes[outcome.id] = outcome
            print(f"{outcome.id}: {'solved' if outcome.success else outcome.reason or 'not solved'}", file=sys.stderr)
    name = f"policy {policy}" if policy else arguments.robot
    data = files.summarise(conditions, {id: outcomes[id] for id in study.ids}, name)
    files.write_variation(data, conditions, out)
    print("\n".join(files.summary_lines(data)), file=sys.stderr)
    return DONE


def _policy(arguments: argparse.Namespace) -> str:
    """Return the policy that is tried; "" for a scripted robot. Raises VariationError."""
    from pipeline.variation import VariationError

    if arguments.robot != "policy":
        if arguments.policy or arguments.images:
            raise VariationError("--policy and --images belong to --robot policy")
        return ""
    from pipeline.closed_loop import LEARNED

    policy = arguments.policy or LEARNED
    if policy == LEARNED and arguments.images:
        raise VariationError("learned policies see no pictures; leave out --images")
    if not 0 < arguments.seconds <= 3600:
        raise VariationError(f"--seconds {arguments.seconds:g} is not between 0 and 3600")
    require_packages(*(("learn", "gymnasium", "stable_baselines3") if policy == LEARNED else ("gymnasium",) * 2))
    return policy


def _perform(arguments: argparse.Namespace, policy: str, project: "Project", sandbox: "Sandbox") -> "Perform":
    """Return what lets the chosen robot try a condition. Raises PolicyError, LearningError."""
    from pipeline.variation import by_oracle

    chosen = project.best_round()
    assert chosen is not None
    program = project.program_in_current_names(chosen.program)
    if not policy:
        return by_oracle(program, sandbox, arguments.robot)
    from pipeline.closed_loop import LEARNED

    if policy == LEARNED:
        from pipeline.closed_loop.learned import by_learned_policies

        return by_learned_policies(project.folder, program, sandbox)
    from pipeline.closed_loop.conditions import PolicyTrials, by_policy
    from pipeline.export.rollouts import robot_of

    solution = project.solution()
    robot = robot_of(solution) if solution else "gripper"
    trials = PolicyTrials(policy, robot, arguments.seconds, arguments.images)
    return by_policy(trials, project.folder, program, sandbox)


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
